package generate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

var update = flag.Bool("update", false, "write what sets come to into testdata")

func TestMain(m *testing.M) {
	sandbox.Answer(Verbs())
	os.Exit(m.Run())
}

// TestSets: what sets come to. A case is set.yaml, what is asked for, and
// want.yaml: answers.yaml has what is known, and repository/... are the files of
// each repository.
func TestSets(t *testing.T) {
	t.Parallel()
	cases, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal(err, len(cases))
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			c := readCase(t, file)
			out, err := Applications(t.Context(), c.set, c.answer)
			if err != nil {
				t.Fatal(err)
			}
			got := c.told(t, out)
			if *update {
				c.write(t, file, got)
				return
			}
			if got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// known is what is asked for in tests.
type known struct {
	set     appset.Set
	all     Answer
	files   map[string]string
	archive *txtar.Archive
	want    string
}

func readCase(t *testing.T, file string) *known {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &known{archive: archive, files: map[string]string{}}
	for _, f := range archive.Files {
		switch f.Name {
		case "set.yaml":
			decode(t, f.Data, &c.set)
		case "answers.yaml":
			decode(t, f.Data, &c.all)
		case "want.yaml":
			c.want = string(f.Data)
		default:
			name, ok := strings.CutPrefix(f.Name, "repository/")
			if !ok {
				t.Fatalf("%s has the file %s", file, f.Name)
			}
			c.files[name] = string(f.Data)
		}
	}
	return c
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	as, err := yaml.YAMLToJSON(text)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(as))
		err = d.Decode(into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// answer is an Ask.
func (c *known) answer(_ context.Context, q Question) (Answer, error) {
	switch {
	case q.Git == nil:
		return c.all, nil
	case strings.Contains(q.Git.RepoURL, "down"):
		return Answer{}, fault.New(fault.Unavailable, "%s can't be reached", q.Git.RepoURL)
	}
	var a Answer
	dirs := map[string]bool{}
	for name, text := range c.files {
		if Wanted(q.Git.Files, name) {
			a.Files = append(a.Files, File{name, text})
		}
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			dirs[d] = !strings.HasPrefix(path.Base(d), ".")
		}
	}
	if len(q.Git.Files) == 0 {
		for d, shown := range dirs {
			if shown {
				a.Directories = append(a.Directories, d)
			}
		}
		slices.Sort(a.Directories)
	}
	return a, nil
}

// told is an outcome for people: names, where to, and what a template said.
func (c *known) told(t *testing.T, out Outcome) string {
	t.Helper()
	slices.SortFunc(out.Applications, func(a, b gitops.Application) int { return cmp.Compare(a.Meta.Name, b.Meta.Name) })
	text, err := yaml.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (c *known) write(t *testing.T, file, got string) {
	t.Helper()
	c.archive.Files = slices.DeleteFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == "want.yaml" })
	c.archive.Files = append(c.archive.Files, txtar.File{Name: "want.yaml", Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(c.archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTheSandbox: a set is made in a child, which asks; one whose template never
// ends, or takes all memory, fails alone.
func TestTheSandbox(t *testing.T) {
	t.Parallel()
	in := sandbox.New(sandbox.LeastMemory)
	c := readCase(t, "testdata/git-directories.txtar")
	out, err := In(t.Context(), in, c.set, c.answer)
	if err != nil || c.told(t, out) != c.want {
		t.Errorf("got %v:\n%s\nwant:\n%s", err, c.told(t, out), c.want)
	}
	bomb := appset.Set{Spec: appset.Spec{GoTemplate: true, Generators: []appset.Generator{{List: &appset.List{Elements: []json.RawMessage{[]byte(`{"a":1}`)}}}}}}
	bomb.Spec.Template.Meta.Name = `{{ repeat 999999999 "a" }}`
	if _, err := In(t.Context(), in, bomb, c.answer); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("a template that takes all memory gave %v; want %s", err, fault.TooLarge)
	}
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	go func() { <-asked; cancel() }()
	endless := bomb
	endless.Spec.Generators = []appset.Generator{{Clusters: &appset.Clusters{}}}
	endless.Spec.Template.Meta.Name = `{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`
	if _, err := In(ctx, in, endless, func(context.Context, Question) (Answer, error) { close(asked); return Answer{}, nil }); err == nil {
		t.Error("a template that never ends ended")
	}
}

// TestManySets: as many sets of parameters as a set may come to, and one more.
func TestManySets(t *testing.T) {
	t.Parallel()
	set := sized(MaxApplications)
	out, err := Applications(t.Context(), set, nil)
	if err != nil || out.Message != "" || len(out.Applications) != MaxApplications {
		t.Errorf("%d applications, %q, %v; want %d", len(out.Applications), out.Message, err, MaxApplications)
	}
	set = sized(MaxApplications + 1)
	if out, err = Applications(t.Context(), set, nil); err != nil || out.Reason != ApplicationsWrong || len(out.Applications) != 0 {
		t.Errorf("%d applications, %q, %v; want none", len(out.Applications), out.Reason, err)
	}
}

func sized(n int) appset.Set {
	set := appset.Set{Spec: appset.Spec{GoTemplate: true}}
	elements := make([]json.RawMessage, n)
	for i := range elements {
		elements[i] = fmt.Appendf(nil, `{"name":"app-%d","env":"dev"}`, i)
	}
	set.Spec.Generators = []appset.Generator{{List: &appset.List{Elements: elements}}}
	set.Spec.Template.Meta.Name = "{{ .name }}"
	set.Spec.Template.Meta.Labels = map[string]string{"env": "{{ .env }}"}
	set.Spec.Template.Spec = gitops.ApplicationSpec{
		Project: "default", Source: &gitops.Source{RepoURL: "https://git.example.com/apps", Path: "apps/{{ .name }}", TargetRevision: "{{ .env }}"},
		Destination: gitops.Destination{Name: "in-cluster", Namespace: "{{ .name }}"},
	}
	return set
}

// BenchmarkApplications: 1,000 sets of parameters.
func BenchmarkApplications(b *testing.B) {
	set := sized(1000)
	for b.Loop() {
		if out, err := Applications(b.Context(), set, nil); err != nil || len(out.Applications) != 1000 {
			b.Fatal(err, out.Message)
		}
	}
}
