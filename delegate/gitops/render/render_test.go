package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// site is an agent's part that renders, and a repository.
type site struct {
	*render.Renderer

	host    *gittest.Repository
	sources *source.Sources
	dir     string
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	s := &site{host: gittest.New(tb), sources: source.New(gitfetch.New(tb.TempDir(), gitfetch.HostKeys{}), chart.NewRepos(tb.TempDir()), tb.TempDir()), dir: tb.TempDir()}
	s.restart(tb)
	return s
}

// restart is another process with the same disk.
func (s *site) restart(tb testing.TB) {
	tb.Helper()
	box := sandbox.New(0)
	tb.Cleanup(box.Close)
	s.Renderer = render.New(s.sources, box, s.dir)
}

// request is for an application of sources in the repository, as they are now.
func (s *site) request(tb testing.TB, sources ...gitops.Source) render.Request {
	tb.Helper()
	q := render.Request{App: "app", Namespace: "demo", Sources: sources}
	for i := range q.Sources {
		if q.Sources[i].RepoURL == "" {
			q.Sources[i].RepoURL = s.host.URL
		}
	}
	got, err := s.sources.Resolve(tb.Context(), source.Wanted{Sources: q.Sources, Since: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	q.Revisions = got.Revisions
	return q
}

// render renders sources as they are now.
func (s *site) render(tb testing.TB, sources ...gitops.Source) (render.Result, error) {
	tb.Helper()
	return s.Render(tb.Context(), s.request(tb, sources...))
}

// names are those of the objects of a result.
func names(r render.Result) []string {
	out := []string{}
	for _, o := range r.Objects {
		out = append(out, o.GetKind()+"/"+o.GetName())
	}
	return out
}

func config(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\ndata: {of: " + name + "}\n"
}

// wantNames checks what an application renders to.
func wantNames(t *testing.T, got render.Result, err error, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, names(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{
		"app/a.yaml": config("a") + "---\n# nothing\n---\n" + config("b"), "app/c.yml": config("c"), "app/d.json": `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}`,
		"app/README.md": "text", "app/.hidden.yaml": config("hidden"), "app/deep/e.yaml": config("e"), "app/deep/more/f.yaml": config("f"),
		"app/skip.yaml": "# +argocd:skip-file-rendering\nnot: an object\n",
		"list/all.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n- {apiVersion: v1, kind: Secret, metadata: {name: z}}\n",
		"text/app.txt":  config("text"), "empty/.gitkeep": "-",
		// The example of Argo CD's documentation.
		"argo/config.json": "no", "argo/env-usw2/a.yaml": "no", "argo/env-use1/a.yaml": config("use1"), "argo/top.yaml": config("top"),
	})
	for _, tt := range []struct {
		name string
		src  gitops.Source
		want []string
	}{
		{"a folder alone", gitops.Source{Path: "app"}, []string{"ConfigMap/hidden", "ConfigMap/a", "ConfigMap/b", "ConfigMap/c", "ConfigMap/d"}},
		{"folders below", gitops.Source{Path: "app", Directory: &gitops.Directory{Recurse: true, Exclude: ".*"}}, []string{"ConfigMap/a", "ConfigMap/b", "ConfigMap/c", "ConfigMap/d", "ConfigMap/e", "ConfigMap/f"}},
		{"one file", gitops.Source{Path: "app", Directory: &gitops.Directory{Include: "c.yml"}}, []string{"ConfigMap/c"}},
		{"a star goes over slashes", gitops.Source{Path: "app", Directory: &gitops.Directory{Recurse: true, Include: "deep/*"}}, []string{"ConfigMap/e", "ConfigMap/f"}},
		{"excluded wins", gitops.Source{Path: "argo", Directory: &gitops.Directory{Recurse: true, Include: "{*.yaml,*.json}", Exclude: "{config.json,env-usw2/*}"}}, []string{"ConfigMap/use1", "ConfigMap/top"}},
		{"a list", gitops.Source{Path: "list/"}, []string{"ConfigMap/x", "Secret/z"}},
		{"any name", gitops.Source{Path: "./text", Directory: &gitops.Directory{DisableExtensionFilter: true}}, []string{"ConfigMap/text"}},
		{"nothing", gitops.Source{Path: "empty"}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.render(t, tt.src)
			wantNames(t, got, err, tt.want...)
		})
	}
}

func TestWhatCannotBeRendered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{
		"values/values.yaml": "a: 1\n", "twice/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: b\n  a: c\n", "broken/a.yaml": config("a") + "---\na: [\n",
		"out/a.yaml": "->../../../etc/passwd", "large/a.yaml": config("a") + "#" + strings.Repeat("x", 10<<20), "file": config("a"), "loop/below": "->../loop", "unnamed/a.yaml": "apiVersion: v1\nkind: ConfigMap\n",
	})
	var many strings.Builder
	for i := range 5001 {
		fmt.Fprintf(&many, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}}\n", i)
	}
	s.host.Commit(map[string]string{"many/a.yaml": many.String()})
	for _, tt := range []struct {
		src  gitops.Source
		code fault.Code
		want string
	}{
		{gitops.Source{Path: "many"}, fault.TooLarge, "application app has 5001 objects; want at most 5000"},
		{gitops.Source{Path: "values"}, fault.Invalid, "values.yaml, document 1: kind or apiVersion is missing"},
		{gitops.Source{Path: "twice"}, fault.Invalid, `a.yaml, document 1: `},
		{gitops.Source{Path: "broken"}, fault.Invalid, "a.yaml, document 2: "},
		{gitops.Source{Path: "out"}, fault.Invalid, "out/a.yaml is a link that leads out of the repository, to ../../../etc/passwd"},
		{gitops.Source{Path: "large"}, fault.TooLarge, "more than 10 MiB"},
		{gitops.Source{Path: "file"}, fault.Invalid, `path "file" is a file; want a folder`},
		{gitops.Source{Path: "loop", Directory: &gitops.Directory{Recurse: true}}, fault.Invalid, "the links in loop lead in a circle"},
		{gitops.Source{Path: "unnamed"}, fault.Invalid, "a ConfigMap without metadata.name"},
		{gitops.Source{Path: "none"}, fault.NotFound, `path "none": there is no file or folder none`},
		{gitops.Source{Path: "../none"}, fault.Invalid, "the path ../none leads out of the repository"},
		{gitops.Source{Path: "values", Directory: &gitops.Directory{Include: "{a"}}, fault.Invalid, `directory.include "{a" is no pattern`},
	} {
		got, err := s.render(t, tt.src)
		if !fault.Is(err, tt.code) || !strings.Contains(err.Error(), tt.want) || len(got.Objects) > 0 {
			t.Errorf("%s gave %v, %v; want %s: %s", tt.src.Path, names(got), err, tt.code, tt.want)
		}
	}
}

func TestManyObjectsAreTold(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var many strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&many, "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a%d}}\n", i)
	}
	s.host.Commit(map[string]string{"many/a.yaml": many.String()})
	got, err := s.render(t, gitops.Source{Path: "many"})
	want := []gitops.Condition{{Type: gitops.ConditionManyObjects, Message: "the application has 2500 objects; more than 5000 can't be synced"}}
	if diff := cmp.Diff(want, got.Conditions); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A push is only rendered for the applications that read what it changed.
func TestWhatHasNotChangedIsNotRendered(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{"one/a.yaml": config("a"), "one/notes.txt": "text", "two/b.yaml": config("b"), "one/deep/c.yaml": config("c")})
	first, err := s.render(t, gitops.Source{Path: "one"})
	wantNames(t, first, err, "ConfigMap/a")
	for _, tt := range []struct {
		name    string
		change  map[string]string
		renders bool
	}{
		{"nothing", nil, false},
		{"another folder", map[string]string{"two/b.yaml": config("changed")}, false},
		{"a file that isn't read", map[string]string{"one/notes.txt": "other text"}, false},
		{"a folder below that isn't read", map[string]string{"one/deep/d.yaml": config("d")}, false},
		{"the file", map[string]string{"one/a.yaml": config("a2")}, true},
		{"a file more", map[string]string{"one/b.yaml": config("b")}, true},
		{"a file less", map[string]string{"one/b.yaml": ""}, true},
		{"a link for a file", map[string]string{"one/notes.yaml": "->notes.txt", "one/notes.txt": config("linked")}, true},
		{"what a link leads to", map[string]string{"one/notes.txt": config("linked again")}, true},
		{"a chart", map[string]string{"one/Chart.yaml": "apiVersion: v2\nname: one\nversion: 1.0.0\n"}, true},
	} {
		s.host.Commit(tt.change)
		got, err := s.render(t, gitops.Source{Path: "one"})
		if err != nil || got.Rendered != tt.renders {
			t.Fatalf("%s: rendered %v, %v; want %v", tt.name, got.Rendered, err, tt.renders)
		}
		if (got.Key == first.Key) == tt.renders {
			t.Errorf("%s: the key is the same: %v", tt.name, !tt.renders)
		}
		first = got
	}
}

func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{"one/a.yaml": config("a")})
	q := s.request(t, gitops.Source{Path: "one"})
	first, err := s.Render(t.Context(), q)
	wantNames(t, first, err, "ConfigMap/a")
	s.restart(t)
	again, err := s.Render(t.Context(), q)
	first.Rendered = false
	if diff := cmp.Diff(first, again); err != nil || diff != "" {
		t.Errorf("after a restart: %v (-want +got):\n%s", err, diff)
	}
	q.Have = first.Key
	if got, err := s.Render(t.Context(), q); err != nil || got.Key != first.Key || got.Objects != nil {
		t.Errorf("objects that the caller has were given: %v, %v", names(got), err)
	}
	q.Have, q.Hard = "", true
	if got, err := s.Render(t.Context(), q); err != nil || !got.Rendered || got.Key != first.Key {
		t.Errorf("a hard refresh gave %+v, %v", got, err)
	}
	q.Hard, q.Namespace = false, "other"
	if got, err := s.Render(t.Context(), q); err != nil || !got.Rendered || got.Key == first.Key {
		t.Errorf("another namespace gave %+v, %v", got, err)
	}
}

// Of two sources with the same object the last wins.
func TestSeveralSources(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.host.Commit(map[string]string{"one/a.yaml": config("a") + "---\n" + config("both"), "two/b.yaml": strings.ReplaceAll(config("both"), "of: both", "of: two"), "files/x.yaml": "a: 1"})
	got, err := s.render(t, gitops.Source{Path: "one"}, gitops.Source{Path: "two"}, gitops.Source{Ref: "values"})
	wantNames(t, got, err, "ConfigMap/a", "ConfigMap/both")
	if of := got.Objects[1].Object["data"]; fmt.Sprint(of) != "map[of:two]" {
		t.Errorf("the object of both has %v; want the second's", of)
	}
	want := []gitops.Condition{{Type: gitops.ConditionRepeatedResource, Message: "/ConfigMap:/both is in the manifests more than once; the last counts"}}
	if diff := cmp.Diff(want, got.Conditions); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
