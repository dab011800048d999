package generate

import (
	"bufio"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/gitops/appset"
)

// TestAsArgoCD: the examples of Argo CD's release come to the applications that its
// own code makes of them (tools/argocd).
func TestAsArgoCD(t *testing.T) {
	t.Parallel()
	// What needs a host isn't judged by that program, but stands in TestSets. A union
	// is a proposal that never came.
	asks := map[string]bool{"scm-provider-generator": true, "pull-request-generator": true, "clusterDecisionResource": true}
	// Its template is of the other notation, so that all its applications have one
	// name, which Argo CD finds later.
	const sameNames = "applicationset/examples/design-doc/clusters.yaml"
	release := release(t)
	judged, err := os.Open("testdata/argocd.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = judged.Close() }()
	files := checkedOut(t, release)
	lines := bufio.NewScanner(judged)
	lines.Buffer(nil, 1<<20)
	same := 0
	for lines.Scan() {
		var want struct {
			File         string `json:"file"`
			Applications []any  `json:"applications"`
			Error        string `json:"error"`
		}
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		if asks[path.Base(path.Dir(want.File))] || want.File == sameNames {
			continue
		}
		text, err := fs.ReadFile(release, want.File)
		if err != nil {
			t.Fatal(err)
		}
		var set appset.Set
		decode(t, text, &set)
		set.Meta.Namespace = "argocd"
		if set.Spec.Template.Spec.Project == "" {
			set.Spec.Template.Spec.Project = "default"
		}
		out, err := Applications(t.Context(), set, files.answer)
		if err != nil {
			t.Fatal(err)
		}
		got := tree(t, out.Applications)
		slices.SortFunc(got, func(a, b any) int { return strings.Compare(name(a), name(b)) })
		if (out.Message != "") != (want.Error != "") || !reflect.DeepEqual(got, tree(t, want.Applications)) {
			t.Errorf("%s: got %q and\n%s\nwant %q and\n%s", want.File, out.Message, pretty(t, got), want.Error, pretty(t, want.Applications))
		}
		same++
	}
	if err := lines.Err(); err != nil || same < 40 {
		t.Errorf("%d examples were compared: %v", same, err)
	}
}

// release is the source of the release of Argo CD that judges.
func release(t *testing.T) fs.FS {
	t.Helper()
	const module = "github.com/argoproj/argo-cd/v3"
	for _, args := range [][]string{{"mod", "download", module}, {"list", "-m", "-f", "{{.Dir}}", module}} {
		c := exec.CommandContext(t.Context(), "go", args...)
		c.Dir, c.Stderr = "../../../tools/argocd", t.Output()
		out, err := c.Output()
		if err != nil {
			t.Fatalf("go %s: %v", strings.Join(args, " "), err)
		}
		if args[0] == "list" {
			return os.DirFS(strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// tree is a value without what is empty.
func tree(t *testing.T, v any) []any {
	t.Helper()
	var out []any
	if err := json.Unmarshal([]byte(pretty(t, v)), &out); err != nil {
		t.Fatal(err)
	}
	kept, _ := bare(out).([]any)
	return kept
}

func bare(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, child any) bool { return reflect.ValueOf(bare(child)).IsZero() })
		for k := range v {
			v[k] = bare(v[k])
		}
		if len(v) == 0 {
			return ""
		}
	case []any:
		for i := range v {
			v[i] = bare(v[i])
		}
		if len(v) == 0 {
			return ""
		}
	case nil:
		return ""
	}
	return v
}

func name(app any) string {
	a, _ := app.(map[string]any)
	m, _ := a["metadata"].(map[string]any)
	n, _ := m["name"].(string)
	return n
}

func pretty(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// tracked answers for every repository with a release's own files.
type tracked struct {
	files fs.FS
	names []string
	dirs  []string
}

func checkedOut(t *testing.T, files fs.FS) *tracked {
	t.Helper()
	out := &tracked{files: files}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
		case !d.IsDir():
			out.names = append(out.names, name)
		case strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		default:
			out.dirs = append(out.dirs, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (k *tracked) answer(_ context.Context, q Question) (Answer, error) {
	switch {
	case q.Clusters:
		return Answer{Clusters: []Cluster{
			{Name: "eng-dev", Server: "https://1.2.3.4", Labels: labelled("dev", map[string]string{"staging": "true"}), Annotations: map[string]string{"note": "of eng-dev"}},
			{Name: "eng_Prod", Server: "https://5.6.7.8", Labels: labelled("prod", nil)},
		}}, nil
	case len(q.Git.Files) == 0:
		return Answer{Directories: k.dirs}, nil
	}
	var a Answer
	for _, name := range k.names {
		if Wanted(q.Git.Files, name) {
			text, err := fs.ReadFile(k.files, name)
			if err != nil {
				return a, err
			}
			a.Files = append(a.Files, File{name, string(text)})
		}
	}
	return a, nil
}

// labelled are the labels of tools/argocd's clusters, with that of their Secrets.
func labelled(env string, more map[string]string) map[string]string {
	out := map[string]string{"argocd.argoproj.io/secret-type": "cluster", "env": env, "environment": env, "type": "production"}
	maps.Copy(out, more)
	return out
}
