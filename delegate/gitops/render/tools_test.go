package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	containers "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/repo/v1"

	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
)

// chartFiles are those of a chart below a folder, whose one object shows its values.
func chartFiles(dir string) map[string]string {
	return map[string]string{
		dir + "Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		dir + "values.yaml":           "a: chart\nb: chart\nc: chart\n",
		dir + "crds/crd.yaml":         "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: webs.example.com}\n",
		dir + "templates/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}, namespace: {{ .Release.Namespace }}}\ndata: {{ .Values | toJson }}\n",
		dir + "templates/job.yaml":    "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: hook\n  annotations: {helm.sh/hook: pre-install}\n",
		dir + "templates/test.yaml":   "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
	}
}

// data is the data of the ConfigMap of a result.
func data(t *testing.T, r render.Result) map[string]any {
	t.Helper()
	for _, o := range r.Objects {
		if o.GetKind() == "ConfigMap" {
			out, _ := o.Object["data"].(map[string]any)
			return out
		}
	}
	t.Fatalf("there is no ConfigMap among %v", names(r))
	return nil
}

// wants checks data, of which only some keys are looked at.
func wants(t *testing.T, what string, got map[string]any, want map[string]any) {
	t.Helper()
	for key, value := range want {
		if diff := cmp.Diff(value, got[key]); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", what, key, diff)
		}
	}
}

func TestHelm(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := chartFiles("charts/web/")
	for name, text := range map[string]string{
		"charts/web/prod.yaml": "b: prod\nlist: [1]\n", "envs/a.yaml": "b: a\nof: a\n", "envs/b.yaml": "b: b\n", "envs/prod.yaml": "b: last\n", "text.txt": "from a file",
		"charts/web/app.yaml": "a: app\n", "charts/out/Chart.yaml": "apiVersion: v2\nname: out\nversion: 1.0.0\n", "charts/out/templates/x.yaml": "->../../../../etc/passwd",
	} {
		files[name] = text
	}
	s.host.Commit(files)
	for _, tt := range []struct {
		name string
		helm gitops.Helm
		want map[string]any
		err  string
	}{
		{"the chart's own", gitops.Helm{}, map[string]any{"a": "chart", "b": "chart"}, ""},
		{"a file beside the chart", gitops.Helm{ValueFiles: []string{"prod.yaml"}}, map[string]any{"a": "chart", "b": "prod", "list": []any{int64(1)}}, ""},
		{"a file from the root", gitops.Helm{ValueFiles: []string{"/envs/a.yaml"}}, map[string]any{"b": "a"}, ""},
		{"a file above the chart", gitops.Helm{ValueFiles: []string{"prod.yaml", "../../envs/a.yaml"}}, map[string]any{"b": "a", "list": []any{int64(1)}}, ""},
		{"a pattern and one that it matches", gitops.Helm{ValueFiles: []string{"/envs/*.yaml", "/envs/prod.yaml"}}, map[string]any{"b": "last", "of": "a"}, ""},
		{"one that a pattern matches, before it", gitops.Helm{ValueFiles: []string{"/envs/prod.yaml", "/envs/*.yaml"}}, map[string]any{"b": "b"}, ""},
		{"of a variable", gitops.Helm{ValueFiles: []string{"$ARGOCD_APP_NAME.yaml"}}, map[string]any{"a": "app"}, ""},
		{"of another source", gitops.Helm{ValueFiles: []string{"$values/envs/b.yaml"}}, map[string]any{"b": "b"}, ""},
		{"values over files", gitops.Helm{ValueFiles: []string{"prod.yaml"}, Values: "b: text\nc: text\n"}, map[string]any{"b": "text", "c": "text"}, ""},
		{"an object over values", gitops.Helm{Values: "b: text\nc: text\n", ValuesObject: json.RawMessage(`{"c":{"deep":1}}`)}, map[string]any{"b": "text", "c": map[string]any{"deep": int64(1)}}, ""},
		{"parameters over all", gitops.Helm{ValuesObject: json.RawMessage(`{"a":1}`), Parameters: []gitops.HelmParameter{{Name: "a", Value: "x,y"}, {Name: "b", Value: "7"}, {Name: "c", Value: "7", ForceString: true}, {Name: "l", Value: "{p,q}"}}}, map[string]any{"a": "x,y", "b": int64(7), "c": "7", "l": []any{"p", "q"}}, ""},
		{"a parameter from a file", gitops.Helm{FileParameters: []gitops.HelmFileParameter{{Name: "a", Path: "/text.txt"}, {Name: "b", Path: "$values/text.txt"}}}, map[string]any{"a": "from a file", "b": "from a file"}, ""},
		{"files that needn't be there", gitops.Helm{ValueFiles: []string{"none.yaml", "none/*.yaml", "prod.yaml"}, IgnoreMissingValueFiles: true}, map[string]any{"b": "prod"}, ""},
		{"a file that isn't there", gitops.Helm{ValueFiles: []string{"none.yaml"}}, nil, "values file none.yaml: there is no file or folder charts/web/none.yaml"},
		{"a pattern that matches nothing", gitops.Helm{ValueFiles: []string{"none*.yaml"}}, nil, "no file matches it"},
		{"out of the repository", gitops.Helm{ValueFiles: []string{"../../../../etc/passwd"}}, nil, "leads out of the repository"},
		{"an unknown ref", gitops.Helm{ValueFiles: []string{"$other/a.yaml"}}, nil, "no source has the ref other"},
		{"a ref in the middle", gitops.Helm{ValueFiles: []string{"envs/$values/a.yaml"}}, nil, "want it at the beginning"},
		{"encrypted", gitops.Helm{ValueFiles: []string{"secrets://a.yaml"}}, nil, "encrypted files can't be read yet"},
		{"broken values", gitops.Helm{Values: "a: ["}, nil, "helm.values: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.render(t, gitops.Source{Path: "charts/web", Helm: &tt.helm}, gitops.Source{Ref: "values"})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v; want %s", err, tt.err)
				}
				return
			}
			wantNames(t, got, err, "CustomResourceDefinition/webs.example.com", "ConfigMap/app", "Job/hook")
			if err == nil {
				wants(t, tt.name, data(t, got), tt.want)
			}
		})
	}
	got, err := s.render(t, gitops.Source{Path: "charts/web", Helm: &gitops.Helm{ReleaseName: "other", SkipCrds: true, Namespace: "there"}})
	wantNames(t, got, err, "ConfigMap/other", "Job/hook")
	if _, err := s.render(t, gitops.Source{Path: "charts/out"}); err == nil || !strings.Contains(err.Error(), "link that leads out") {
		t.Errorf("a chart with a link out of the repository gave %v", err)
	}
}

// Which commits have a chart and a kustomization rendered again.
func TestToolsRenderWhatChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := chartFiles("web/")
	for name, text := range map[string]string{
		"values/prod.yaml": "a: prod\n", "other/a.yaml": config("a"), "kustomize/base/kustomization.yaml": "resources: [a.yaml]\n", "kustomize/base/a.yaml": config("a"), "kustomize/base/README.md": "text",
		"kustomize/over/deep/kustomization.yaml": "resources: [../../base]\nnamePrefix: x-\n",
	} {
		files[name] = text
	}
	s.host.Commit(files)
	chart := gitops.Source{Path: "web", Helm: &gitops.Helm{ValueFiles: []string{"/values/prod.yaml"}}}
	folder := gitops.Source{Path: "kustomize/over/deep"}
	for _, src := range []gitops.Source{chart, folder} {
		if got, err := s.render(t, src); err != nil || !got.Rendered {
			t.Fatalf("%s: %v", src.Path, err)
		}
	}
	for _, tt := range []struct {
		name          string
		change        map[string]string
		chart, folder bool
	}{
		{"nothing of both", map[string]string{"other/a.yaml": config("b"), "kustomize/base/README.md": "other text"}, false, false},
		{"a template", map[string]string{"web/templates/more.yaml": config("more")}, true, false},
		{"values elsewhere", map[string]string{"values/prod.yaml": "a: changed\n"}, true, false},
		{"a base two folders up", map[string]string{"kustomize/base/a.yaml": config("changed")}, false, true},
		{"overrides", map[string]string{"web/.argocd-source.yaml": "helm: {releaseName: all}\n", "kustomize/over/deep/.argocd-source-app.yaml": "kustomize: {nameSuffix: -y}\n"}, true, true},
		{"overrides of another application", map[string]string{"kustomize/over/deep/.argocd-source-other.yaml": "kustomize: {nameSuffix: -z}\n"}, false, false},
	} {
		s.host.Commit(tt.change)
		for _, one := range []struct {
			src     gitops.Source
			renders bool
		}{{chart, tt.chart}, {folder, tt.folder}} {
			if got, err := s.render(t, one.src); err != nil || got.Rendered != one.renders {
				t.Errorf("%s: %s rendered: %v, %v; want %v", tt.name, one.src.Path, got.Rendered, err, one.renders)
			}
		}
	}
	got, err := s.render(t, folder)
	wantNames(t, got, err, "ConfigMap/x-changed-y")
	got, err = s.render(t, chart)
	wantNames(t, got, err, "CustomResourceDefinition/webs.example.com", "ConfigMap/all", "ConfigMap/more", "Job/hook")
}

// A generated password is the same for the caller whatever a template makes of it.
func TestUnstable(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{
		"web/Chart.yaml":         "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"web/templates/all.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: made}\nstringData: {fixed: x, a/b: {{ randAlphaNum 20 }}}\n",
	})
	q := s.request(t, gitops.Source{Path: "web"})
	first, err := s.Render(t.Context(), q)
	wantNames(t, first, err, "Secret/made")
	want := []string{"/stringData/a~1b"}
	if diff := cmp.Diff(want, first.Unstable[render.KeyOf(first.Objects[0])]); diff != "" {
		t.Errorf("unstable fields (-want +got):\n%s", diff)
	}
	if len(first.Conditions) != 1 || first.Conditions[0].Type != gitops.ConditionUnstableRender || !strings.Contains(first.Conditions[0].Message, "/Secret:/made/stringData/a~1b") {
		t.Errorf("conditions are %+v", first.Conditions)
	}
	s.restart(t)
	again, err := s.Render(t.Context(), q)
	first.Rendered = false
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("after a restart: %v (-want +got):\n%s", err, diff)
	}
}

func TestKustomize(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	web := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: 'nginx:1'}]}\n"
	s.host.Commit(map[string]string{
		"base/kustomization.yaml": "resources: [web.yaml]\ncommonLabels: {own: base}\nimages: [{name: nginx, newTag: '2'}]\nreplicas: [{name: web, count: 2}]\n", "base/web.yaml": web,
		"part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [part.yaml]\n", "part/part.yaml": config("part"),
		"remote/kustomization.yaml": "resources: ['http://127.0.0.1:1/team/app?ref=v1']\n", "url/kustomization.yaml": "resources: ['https://example.com/team/app/main/x.yaml']\n", "out/kustomization.yaml": "resources: [../../../etc/passwd]\n", "far/kustomization.yaml": "resources: [../base/web.yaml]\n",
	})
	for _, tt := range []struct {
		name string
		path string
		set  gitops.Kustomize
		want []string // in the objects
		err  string
	}{
		{"as it is", "base", gitops.Kustomize{}, []string{`"name":"web"`, `"image":"nginx:2"`, `"replicas":2`}, ""},
		{"names", "base", gitops.Kustomize{NamePrefix: "a-", NameSuffix: "-b", Namespace: "there"}, []string{`"name":"a-web-b"`, `"namespace":"there"`}, ""},
		{"an image's tag", "base", gitops.Kustomize{Images: []string{"nginx:3"}}, []string{`"image":"nginx:3"`}, ""},
		{"another image", "base", gitops.Kustomize{Images: []string{"nginx=example.com:5000/web:4"}}, []string{`"image":"example.com:5000/web:4"`}, ""},
		{"a digest", "base", gitops.Kustomize{Images: []string{"nginx@sha256:" + strings.Repeat("a", 64)}}, []string{`"image":"nginx@sha256:aaaa`}, ""},
		{"replicas", "base", gitops.Kustomize{Replicas: []gitops.KustomizeReplica{{Name: "web", Count: json.RawMessage(`"5"`)}}}, []string{`"replicas":5`}, ""},
		{"a patch", "base", gitops.Kustomize{Patches: []gitops.KustomizePatch{{Patch: `[{"op": "add", "path": "/spec/paused", "value": true}]`, Target: &gitops.KustomizeTarget{Kind: "Deployment"}}}}, []string{`"paused":true`}, ""},
		{"annotations", "base", gitops.Kustomize{CommonAnnotations: map[string]string{"by": "$ARGOCD_APP_NAME"}, CommonAnnotationsEnvsubst: true}, []string{`"by":"app"`}, ""},
		{"labels", "base", gitops.Kustomize{CommonLabels: map[string]string{"more": "x"}}, []string{`"matchLabels":{"app":"web","more":"x","own":"base"}`}, ""},
		{"labels of the objects alone", "base", gitops.Kustomize{CommonLabels: map[string]string{"more": "x"}, LabelWithoutSelector: true}, []string{`"matchLabels":{"app":"web","own":"base"}`, `"labels":{"more":"x","own":"base"}`}, ""},
		{"a label that is there", "base", gitops.Kustomize{CommonLabels: map[string]string{"own": "x"}}, nil, "want forceCommonLabels to replace it"},
		{"a label that is there, by force", "base", gitops.Kustomize{CommonLabels: map[string]string{"own": "x"}, ForceCommonLabels: true}, []string{`"own":"x"`}, ""},
		{"a component", "base", gitops.Kustomize{Components: []string{"../part", "../none"}, IgnoreMissingComponents: true}, []string{`"name":"part"`}, ""},
		{"a component that isn't there", "base", gitops.Kustomize{Components: []string{"../none"}}, nil, "kustomize: "},
		{"a version", "base", gitops.Kustomize{Version: "v4.5.7"}, nil, "kustomize.version is v4.5.7"},
		{"another repository", "remote", gitops.Kustomize{NamePrefix: "x"}, nil, "names http://127.0.0.1:1/team/app?ref=v1: git ls-remote"},
		{"another repository, unedited", "remote", gitops.Kustomize{}, nil, "names http://127.0.0.1:1/team/app?ref=v1: git ls-remote"},
		{"a file at a URL", "url", gitops.Kustomize{}, nil, "such files can't be read yet"},
		{"files from outside", "out", gitops.Kustomize{}, nil, "kustomize: "},
		{"files of another folder", "far", gitops.Kustomize{}, nil, "security"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.render(t, gitops.Source{Path: tt.path, Kustomize: &tt.set})
			if tt.err != "" || err != nil {
				if tt.err == "" || err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("%v; want %s", err, tt.err)
				}
				return
			}
			var all bytes.Buffer
			for _, o := range got.Objects {
				if err := json.NewEncoder(&all).Encode(o.Object); err != nil {
					t.Fatal(err)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(all.String(), want) {
					t.Errorf("there is no %s in\n%s", want, all.String())
				}
			}
		})
	}
}

// Bases of other repositories are read as the application's own repository is.
func TestKustomizeOfOtherRepositories(t *testing.T) {
	t.Parallel()
	s, other := newSite(t), gittest.New(t)
	other.Commit(map[string]string{"base/kustomization.yaml": "resources: [a.yaml, ../more]\n", "base/a.yaml": config("a"), "more/kustomization.yaml": "resources: [b.yaml]\n", "more/b.yaml": config("b")})
	other.Push("refs/tags/v1")
	s.host.Commit(map[string]string{"app/deep/kustomization.yaml": "resources: ['" + other.URL + "//base?ref=v1', own.yaml]\nnamePrefix: x-\n", "app/deep/own.yaml": config("own")})
	src := gitops.Source{Path: "app/deep"}
	first, err := s.render(t, src)
	wantNames(t, first, err, "ConfigMap/x-a", "ConfigMap/x-b", "ConfigMap/x-own")
	if got, err := s.render(t, src); err != nil || got.Rendered || got.Key != first.Key {
		t.Errorf("what hasn't changed was rendered: %v, %v", got.Rendered, err)
	}
	got, err := s.render(t, gitops.Source{Path: "app/deep", Kustomize: &gitops.Kustomize{NameSuffix: "-y"}})
	wantNames(t, got, err, "ConfigMap/x-a-y", "ConfigMap/x-b-y", "ConfigMap/x-own-y")
	other.Commit(map[string]string{"base/a.yaml": config("changed")})
	other.Push("refs/tags/v1")
	q := s.request(t, src)
	q.Hard = true
	got, err = s.Render(t.Context(), q)
	wantNames(t, got, err, "ConfigMap/x-changed", "ConfigMap/x-b", "ConfigMap/x-own")
}

func TestJsonnet(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{
		"app/all.jsonnet":      "local lib = import 'lib.libsonnet'; local far = import 'far.libsonnet'; function(n='none') [lib(n), [lib(std.extVar('x')), far]]",
		"app/lib.libsonnet":    "function(n) {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: n}}",
		"shared/far.libsonnet": "{apiVersion: 'v1', kind: 'Secret', metadata: {name: 'far'}}",
		"loop/a.jsonnet":       "local f(x) = f(x + 1) + 1; f(0)", "out/a.jsonnet": "importstr '../../../etc/passwd'", "file/a.jsonnet": "importstr '/etc/passwd'",
	})
	src := gitops.Source{Path: "app", Directory: &gitops.Directory{Jsonnet: &gitops.Jsonnet{
		Libs: []string{"shared"}, TLAs: []gitops.JsonnetVar{{Name: "n", Value: "'a' + 'b'", Code: true}}, ExtVars: []gitops.JsonnetVar{{Name: "x", Value: "$ARGOCD_APP_NAME"}},
	}}}
	got, err := s.render(t, src)
	wantNames(t, got, err, "ConfigMap/ab", "ConfigMap/app", "Secret/far")
	s.host.Commit(map[string]string{"shared/far.libsonnet": "{apiVersion: 'v1', kind: 'Secret', metadata: {name: 'changed'}}"})
	got, err = s.render(t, src)
	wantNames(t, got, err, "ConfigMap/ab", "ConfigMap/app", "Secret/changed")
	for path, want := range map[string]string{"loop": "max stack", "out": "leads out of the repository", "file": "there is no file"} {
		if _, err := s.render(t, gitops.Source{Path: path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v; want %s", path, err, want)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{
		"both/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "both/templates/a.yaml": config("chart"), "both/kustomization.yaml": "resources: [plain.yaml]\nnamePrefix: k-\n", "both/plain.yaml": config("plain"),
		"over/a.yaml": config("a"), "over/.argocd-source.yaml": "source: {path: x}\n", "typo/.argocd-source.yaml": "helm: {releasename: x}\n",
	})
	for _, tt := range []struct {
		src  gitops.Source
		want string
	}{
		{gitops.Source{Path: "both"}, "ConfigMap/chart"},
		{gitops.Source{Path: "both", Kustomize: &gitops.Kustomize{NameSuffix: "-s"}}, "ConfigMap/k-plain-s"},
		{gitops.Source{Path: "both", Directory: &gitops.Directory{Include: "plain.yaml"}}, "ConfigMap/plain"},
		{gitops.Source{Path: "both", Kustomize: &gitops.Kustomize{NameSuffix: "x"}, Helm: &gitops.Helm{ReleaseName: "x"}}, "the source has the fields helm and kustomize; want at most one of them"},
		{gitops.Source{Path: "over"}, ".argocd-source.yaml: found the field source"},
		{gitops.Source{Path: "both", Plugin: &gitops.Plugin{}}, "plugins can't be run yet"},
	} {
		got, err := s.render(t, tt.src)
		said := strings.Join(names(got), " ")
		if err != nil {
			said = err.Error()
		}
		if !strings.Contains(said, tt.want) {
			t.Errorf("%+v gave %s; want %s", tt.src, said, tt.want)
		}
	}
}

// packed is a packaged chart.
func packed(t *testing.T, version string) []byte {
	t.Helper()
	dir := t.TempDir()
	for name, text := range chartFiles("") {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "version: 1.0.0", "version: "+version)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := loader.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	at, err := util.Save(c, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestChartsOfARepository(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{"prod.yaml": "b: prod\n"})
	dir := t.TempDir()
	for _, version := range []string{"1.0.0", "1.2.0", "2.0.0", "3.0.0-rc.1"} {
		if err := os.WriteFile(filepath.Join(dir, "web-"+version+".tgz"), packed(t, version), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index, err := repo.IndexDirectory(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := index.WriteFile(filepath.Join(dir, "index.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	for want, version := range map[string]string{"": "2.0.0", "*": "2.0.0", "1.*": "1.2.0", "1.0.0": "1.0.0", ">=3.0.0-0": "3.0.0-rc.1"} {
		q := s.request(t, gitops.Source{RepoURL: server.URL, Chart: "web", TargetRevision: want, Helm: &gitops.Helm{ValueFiles: []string{"$values/prod.yaml"}}}, gitops.Source{Ref: "values"})
		if q.Revisions[0] != version {
			t.Errorf("version %q is %s; want %s", want, q.Revisions[0], version)
			continue
		}
		got, err := s.Render(t.Context(), q)
		wantNames(t, got, err, "CustomResourceDefinition/webs.example.com", "ConfigMap/app", "Job/hook")
		wants(t, want, data(t, got), map[string]any{"a": "chart", "b": "prod"})
	}
	_, err = s.sources.Resolve(t.Context(), source.Wanted{Sources: []gitops.Source{{RepoURL: server.URL, Chart: "web", TargetRevision: "4.*"}}})
	if !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), `revision "4.*" not found in `+server.URL) {
		t.Errorf("a version that isn't there gave %v", err)
	}
}

func TestArtifactsOfARegistry(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := httptest.NewServer(containers.New(containers.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	at := strings.TrimPrefix(server.URL, "http://") + "/team/web"
	push := func(tag string, layers ...v1.Layer) {
		t.Helper()
		image, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
		if err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference(at+":"+tag, name.Insecure)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(ref, image); err != nil {
			t.Fatal(err)
		}
	}
	const helm = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
	push("1.0.0", static.NewLayer(packed(t, "1.0.0"), helm))
	push("1.1.0_build", static.NewLayer(packed(t, "1.1.0"), helm))
	push("image", static.NewLayer([]byte("x"), types.DockerLayer))
	push("two", static.NewLayer(packed(t, "1.0.0"), helm), static.NewLayer(packed(t, "1.2.0"), helm))
	known := &access.Known{Repositories: []access.Repository{{URL: "oci://" + at, Type: access.OCI, PlainHTTP: true}}}
	open := func(revision string) (render.Result, error) {
		src := gitops.Source{RepoURL: "oci://" + at, TargetRevision: revision, Path: "."}
		got, err := s.sources.Resolve(t.Context(), source.Wanted{Sources: []gitops.Source{src}, Known: known})
		if err != nil {
			return render.Result{}, err
		}
		return s.Render(t.Context(), render.Request{App: "app", Namespace: "demo", Sources: []gitops.Source{src}, Revisions: got.Revisions, Known: known})
	}
	for _, revision := range []string{"1.0.0", "1.*", "1.1.0+build"} {
		got, err := open(revision)
		wantNames(t, got, err, "CustomResourceDefinition/webs.example.com", "ConfigMap/app", "Job/hook")
	}
	for revision, want := range map[string]string{"none": `revision "none" not found in oci://` + at, "2.*": "no version matches it", "image": "want application/vnd.oci", "two": "has 2 layers; want one"} {
		if _, err := open(revision); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave %v; want %s", revision, err, want)
		}
	}
}

// BenchmarkChart renders a chart of 60 objects; the goal is 80 ms.
func BenchmarkChart(b *testing.B) {
	s := newSite(b)
	files := map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "web/values.yaml": "replicas: 2\n"}
	for i := range 60 {
		files[fmt.Sprintf("web/templates/%d.yaml", i)] = fmt.Sprintf("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .Release.Name }}-%d\nspec:\n  replicas: {{ .Values.replicas }}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: web, image: nginx}]}\n", i)
	}
	s.host.Commit(files)
	q := s.request(b, gitops.Source{Path: "web"})
	q.Hard = true
	for b.Loop() {
		if got, err := s.Render(b.Context(), q); err != nil || len(got.Objects) != 60 {
			b.Fatal(len(got.Objects), err)
		}
	}
}
