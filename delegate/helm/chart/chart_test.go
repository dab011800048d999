package chart_test

import (
	"bytes"
	"context"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	containers "github.com/google/go-containerregistry/pkg/registry"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/registry"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write makes files below a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		check(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// packed is a packaged chart with one object, which says its version.
func packed(t *testing.T, name, version string) []byte {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"Chart.yaml":            "apiVersion: v2\nname: " + name + "\nversion: " + version + "\n",
		"values.yaml":           "greeting: chart\n",
		"prod/values.yaml":      "greeting: prod\n",
		"templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-" + name + "}\ndata: {version: {{ .Chart.Version }}, greeting: {{ .Values.greeting | quote }}}\n",
	})
	c, err := loader.Load(dir)
	check(t, err)
	path, err := util.Save(c, t.TempDir())
	check(t, err)
	data, err := os.ReadFile(path)
	check(t, err)
	return data
}

// server is an HTTP repository of the chart web that wants a password.
type server struct {
	*httptest.Server
	asked atomic.Int32
	dir   string
}

func newServer(t *testing.T, versions ...string) *server {
	t.Helper()
	s := &server{dir: t.TempDir()}
	files := http.FileServer(http.Dir(s.dir))
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		if _, password, _ := r.BasicAuth(); password != "secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		files.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	s.publish(t, versions...)
	return s
}

func (s *server) publish(t *testing.T, versions ...string) {
	t.Helper()
	for _, v := range versions {
		check(t, os.WriteFile(filepath.Join(s.dir, "web-"+v+".tgz"), packed(t, "web", v), 0o600))
	}
	index, err := repo.IndexDirectory(s.dir, "")
	check(t, err)
	check(t, index.WriteFile(filepath.Join(s.dir, "index.yaml"), 0o600))
}

func (s *server) manifest(version string) *origin.Manifest {
	return &origin.Manifest{
		ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: version},
		Store: task.Store{Charts: &task.ChartRepo{URL: s.URL, Username: "me", Password: "secret"}},
	}
}

func source(stage string) manifest.Source { return manifest.Source{Stage: stage, Log: io.Discard} }

// load reads a fetched chart.
func load(t *testing.T, m *origin.Manifest, files manifest.Files) *v2.Chart {
	t.Helper()
	c, _, err := chart.Reader{Dir: func() (string, error) { return t.TempDir(), nil }, Log: io.Discard}.Load(t.Context(), m, files, origin.HelmFlags{})
	check(t, err)
	return c
}

func TestVersions(t *testing.T) {
	t.Parallel()
	s := newServer(t, "1.0.0", "1.2.0", "2.0.0", "3.0.0-rc.1")
	plain := httptest.NewServer(containers.New(containers.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(plain.Close)
	host := strings.TrimPrefix(plain.URL, "http://")
	client, err := registry.NewClient(registry.ClientOptPlainHTTP(), registry.ClientOptWriter(io.Discard), registry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "c.json")))
	check(t, err)
	for _, v := range []string{"1.0.0", "1.2.0", "2.0.0", "3.0.0-rc.1"} {
		_, err := client.Push(packed(t, "web", v), host+"/team/web:"+v)
		check(t, err)
	}
	oci := func(version string) *origin.Manifest {
		return &origin.Manifest{
			ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: version, CommandFlags: []origin.CommandFlag{{Command: "Pull", Flag: "--plain-http"}}},
			Store: task.Store{Charts: &task.ChartRepo{URL: "oci://" + host + "/team", OCI: true}},
		}
	}
	for kind, manifestOf := range map[string]func(string) *origin.Manifest{"HTTP": s.manifest, "OCI": oci} {
		for want, got := range map[string]string{"": "2.0.0", "1.0.0": "1.0.0", "^1.0.0": "1.2.0", ">=3.0.0-0": "3.0.0-rc.1"} {
			t.Run(kind+" "+want, func(t *testing.T) {
				t.Parallel()
				m := manifestOf(want)
				flags, err := m.Chart.Download()
				check(t, err)
				files, err := chart.NewRepos(t.TempDir()).Fetch(t.Context(), source("s"), m, flags)
				check(t, err)
				if v := load(t, m, files).Metadata.Version; v != got {
					t.Errorf("version %q gave %s, want %s", want, v, got)
				}
			})
		}
		t.Run(kind+" missing", func(t *testing.T) {
			t.Parallel()
			m := manifestOf("9.9.9")
			flags, err := m.Chart.Download()
			check(t, err)
			if _, err := chart.NewRepos(t.TempDir()).Fetch(t.Context(), source("s"), m, flags); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "9.9.9") {
				t.Errorf("a version that isn't there gave %v", err)
			}
		})
	}
}

// What one stage deploys is one version, fetched once, whatever is published
// in between.
func TestOneVersionForAStage(t *testing.T) {
	t.Parallel()
	s := newServer(t, "1.0.0")
	repos := chart.NewRepos(t.TempDir())
	fetch := func(stage string) string {
		files, err := repos.Fetch(t.Context(), source(stage), s.manifest(""), origin.HelmFlags{})
		check(t, err)
		return load(t, s.manifest(""), files).Metadata.Version
	}
	if got := fetch("a"); got != "1.0.0" {
		t.Fatalf("got %s", got)
	}
	s.publish(t, "1.1.0")
	before := s.asked.Load()
	if got := fetch("a"); got != "1.0.0" || s.asked.Load() != before {
		t.Errorf("the same stage got %s with %d more requests; want 1.0.0 with none", got, s.asked.Load()-before)
	}
	if got := fetch("b"); got != "1.1.0" {
		t.Errorf("the next stage got %s; want the newest", got)
	}
}

func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	s := newServer(t, "1.0.0")
	repos := chart.NewRepos(t.TempDir())
	_, err := repos.Fetch(t.Context(), source("a"), s.manifest(""), origin.HelmFlags{})
	check(t, err)
	m := s.manifest("")
	m.Store.Charts.Password = "wrong"
	_, err = repos.Fetch(t.Context(), source("b"), m, origin.HelmFlags{})
	if diff := cmp.Diff([]fault.FailureType{fault.Authentication}, fault.Failures(err)); diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if err == nil || strings.Contains(err.Error(), "wrong") {
		t.Errorf("the message %v gives the password away", err)
	}
}

// Values files of a chart from a repository are below the chart's root.
func TestValuesOfTheChart(t *testing.T) {
	t.Parallel()
	s := newServer(t, "1.0.0")
	m := s.manifest("")
	m.ValuesPaths = []string{"prod/values.yaml"}
	files, err := chart.NewRepos(t.TempDir()).Fetch(t.Context(), source("a"), m, origin.HelmFlags{})
	check(t, err)
	base, err := source("a").Values(t.Context(), m, files, nil)
	check(t, err)
	flags, err := origin.ParseHelmFlags(origin.HelmTemplate, []origin.CommandFlag{{Command: origin.HelmTemplate, Flag: "--set extra.list[0]=1 --set-string n=1 --set-json 'o={\"a\":[1]}' --set-file f=prod/values.yaml --set-literal l=a,b"}})
	check(t, err)
	got, err := chart.Values(base, files, flags)
	check(t, err)
	want := map[string]any{
		"greeting": "prod", "extra": map[string]any{"list": []any{int64(1)}}, "n": "1", "o": map[string]any{"a": []any{float64(1)}},
		"f": "greeting: prod\n", "l": "a,b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// Dependencies of a chart in a repository of files: one beside it, one from a
// server; and the parent stays as it was fetched.
func TestDependencies(t *testing.T) {
	t.Parallel()
	open := httptest.NewServer(http.FileServer(http.Dir(t.TempDir())))
	t.Cleanup(open.Close)
	dir := t.TempDir()
	served := http.FileServer(http.Dir(dir))
	open.Config.Handler = served
	check(t, os.WriteFile(filepath.Join(dir, "far-0.1.0.tgz"), packed(t, "far", "0.1.0"), 0o600))
	index, err := repo.IndexDirectory(dir, open.URL)
	check(t, err)
	check(t, index.WriteFile(filepath.Join(dir, "index.yaml"), 0o600))
	root := t.TempDir()
	write(t, root, map[string]string{
		"charts/app/Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\ndependencies:\n" +
			"- {name: near, version: 0.1.0, repository: \"file://../near\"}\n- {name: far, version: 0.1.0, repository: \"" + open.URL + "\"}\n",
		"charts/app/templates/c.yaml":  "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\n",
		"charts/near/Chart.yaml":       "apiVersion: v2\nname: near\nversion: 0.1.0\n",
		"charts/near/templates/c.yaml": "# harness.io/skip-file-for-deploy\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: near}\n",
	})
	files := manifest.Files{Root: root, Folder: filepath.Join(root, "charts", "app")}
	m := &origin.Manifest{Chart: &origin.Chart{}}
	c := load(t, m, files)
	got, err := chart.Reader{Log: io.Discard}.Template(t.Context(), c, nil, chart.Release{Name: "rel", Namespace: "ns"}, origin.HelmFlags{})
	check(t, err)
	for _, want := range []string{"# Source: app/templates/c.yaml", "# Source: app/charts/near/templates/c.yaml", "name: rel-far"} {
		if !strings.Contains(got, want) {
			t.Errorf("rendered\n%s\nwithout %q", got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(files.Folder, "charts")); err == nil {
		t.Error("the fetched chart was changed")
	}
	m.Chart.SubChartPath = "../near"
	if c := load(t, m, files); c.Name() != "near" {
		t.Errorf("subChartPath gave the chart %s", c.Name())
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"Chart.yaml":             "apiVersion: v2\nname: app\nversion: 1.0.0\n",
		"crds/crd.yaml":          "kind: CRD\n",
		"templates/a.yaml":       "kind: A\nversion: {{ .Capabilities.KubeVersion.Version }}\nhas: {{ .Capabilities.APIVersions.Has \"x/v1\" }}\nupgrade: {{ .Release.IsUpgrade }}\n",
		"templates/b.yaml":       "kind: B\nnil: {{ .Values.nothing }}\n",
		"templates/hook.yaml":    "kind: Hook\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\n",
		"templates/t/test.yaml":  "kind: Test\nmetadata: {name: t, annotations: {helm.sh/hook: test}}\n",
		"templates/NOTES.txt":    "notes",
		"templates/_helpers.tpl": "{{ define \"x\" }}{{ end }}",
	})
	c, err := loader.Load(dir)
	check(t, err)
	tests := []struct {
		flags      string
		has, hasnt []string
	}{
		{"--debug", []string{"kind: A", "kind: B", "kind: Hook", "upgrade: false"}, []string{"kind: Test", "kind: CRD", "notes"}},
		{"--include-crds --no-hooks", []string{"kind: CRD", "kind: A"}, []string{"kind: Hook"}},
		{"--show-only templates/b.yaml", []string{"kind: B"}, []string{"kind: A", "kind: Hook"}},
		{"--kube-version 1.30 -a x/v1 --is-upgrade", []string{"version: v1.30", "has: true", "upgrade: true"}, nil},
	}
	for _, tt := range tests {
		flags, err := origin.ParseHelmFlags(origin.HelmTemplate, []origin.CommandFlag{{Command: origin.HelmTemplate, Flag: tt.flags}})
		check(t, err)
		var out bytes.Buffer
		got, err := chart.Reader{Log: &out}.Template(t.Context(), c, map[string]any{}, chart.Release{Name: "rel", Namespace: "ns"}, flags)
		check(t, err)
		for _, want := range tt.has {
			if !strings.Contains(got, want) {
				t.Errorf("%s rendered\n%s\nwithout %q", tt.flags, got, want)
			}
		}
		for _, not := range tt.hasnt {
			if strings.Contains(got, not) {
				t.Errorf("%s rendered\n%s\nwith %q", tt.flags, got, not)
			}
		}
	}
	flags := origin.HelmFlags{ShowOnly: []string{"templates/none.yaml"}}
	if _, err := (chart.Reader{Log: io.Discard}).Template(t.Context(), c, nil, chart.Release{Name: "rel"}, flags); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file that isn't there gave %v", err)
	}
}

// TestChartsStayInTheirRepository: Helm would follow a link, or a dependency's
// path, to any file of the delegate, and a template would show it.
func TestChartsStayInTheirRepository(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	write(t, outside, map[string]string{
		"token": "hunter2\n", "near/Chart.yaml": "apiVersion: v2\nname: near\nversion: 0.1.0\n", "near/templates/c.yaml": "a: b\n",
	})
	for _, c := range []struct {
		name   string
		links  map[string]string // below the repository
		depend string
		want   string // in the error; empty: the chart is read
	}{
		{"a link to a file", map[string]string{"charts/app/files/x": filepath.Join(outside, "token")}, "", "x is a link that leads out"},
		{"a link to a folder", map[string]string{"charts/app/files": outside}, "", "files is a link that leads out"},
		{"by another link", map[string]string{"charts/app/files": "../../more", "more/y": filepath.Join(outside, "token")}, "", "y is a link that leads out"},
		{"within the repository", map[string]string{"charts/app/files": "../../more", "more/to": "../other", "other/v": "../more/z"}, "", ""},
		{"in a circle", map[string]string{"charts/app/a": "../../more", "charts/app/b": "../../more", "more/a": ".", "more/b": "../charts"}, "", "lead in a circle"},
		{"a dependency elsewhere", nil, "file://" + filepath.Join(outside, "near"), "isn't in the chart's repository"},
		{"a dependency above", nil, "file://../../../near", "isn't in the chart's repository"},
		{"a dependency by a link", map[string]string{"charts/near": filepath.Join(outside, "near")}, "file://../near", "near is a link that leads out"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := filepath.Join(t.TempDir(), "repository")
			about := "apiVersion: v2\nname: app\nversion: 1.0.0\n"
			if c.depend != "" {
				about += "dependencies: [{name: near, version: 0.1.0, repository: \"" + c.depend + "\"}]\n"
			}
			write(t, root, map[string]string{"charts/app/Chart.yaml": about, "more/z": "z\n"})
			for from, to := range c.links {
				check(t, os.MkdirAll(filepath.Dir(filepath.Join(root, from)), 0o700))
				check(t, os.Symlink(to, filepath.Join(root, from)))
			}
			files := manifest.Files{Root: root, Folder: filepath.Join(root, "charts", "app")}
			got, _, err := chart.Reader{Dir: func() (string, error) { return t.TempDir(), nil }, Log: io.Discard}.Load(t.Context(), &origin.Manifest{}, files, origin.HelmFlags{})
			if c.want == "" && err != nil || c.want != "" && (!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("read %+v, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestASilentRegistryHoldsNobodyUp: a download ends with its task.
func TestASilentRegistryHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 1), make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		select {
		case asked <- struct{}{}:
		default:
		}
		<-release
	}))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-asked; stop() }()
	m := &origin.Manifest{
		ID: "app", Type: "HelmChart", Chart: &origin.Chart{Name: "web", Version: "1.0.0"},
		Store: task.Store{Charts: &task.ChartRepo{URL: "oci://" + strings.TrimPrefix(silent.URL, "http://"), OCI: true}},
	}
	if _, err := chart.NewRepos(t.TempDir()).Fetch(ctx, source("s"), m, origin.HelmFlags{PlainHTTP: true}); err == nil || ctx.Err() == nil {
		t.Errorf("the registry was silent, and the download ended with %v", err)
	}
}
