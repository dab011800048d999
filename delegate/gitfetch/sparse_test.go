package gitfetch_test

import (
	"encoding/hex"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/task"
)

// noise is a text of some size that can't be compressed well.
func noise(size int) string {
	b := make([]byte, size/2)
	_, _ = rand.NewChaCha8([32]byte{byte(size)}).Read(b) // never fails
	return hex.EncodeToString(b)
}

// files lists those below a folder.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		out = append(out, filepath.ToSlash(name))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// A large folder beside the one that is asked for is neither fetched nor
// checked out, and what has been fetched isn't fetched again.
func TestOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	const large = 4 << 20
	h := newHost(t, "")
	h.commitAll(t, map[string]string{"app/web.yaml": "web", "app/sub/job.yaml": "job", "values.yaml": "v", "big/a": noise(large), "other/x.yaml": "x"})
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	fetch := func(stage string, paths ...string) (got []string, requests int32, bytes int64) {
		t.Helper()
		requests, bytes = h.fetches.Load(), h.sent.Load()
		out, err := f.Fetch(t.Context(), task.Git{URL: h.url, Branch: "main", Paths: paths}, stage)
		if err != nil {
			t.Fatal(err)
		}
		return files(t, out.Dir), h.fetches.Load() - requests, h.sent.Load() - bytes
	}
	got, one, size := fetch("a", "/app/")
	if diff := cmp.Diff([]string{"app/sub/job.yaml", "app/web.yaml"}, got); diff != "" || size > 10_000 {
		t.Errorf("fetched %d bytes (-want +got):\n%s", size, diff)
	}
	t.Logf("of %d bytes, %d were fetched, in %d requests", large, size, one)
	got, requests, size := fetch("a", "app")
	if requests != 0 || size != 0 || len(got) != 2 {
		t.Errorf("again: %d requests, %d bytes: %v", requests, size, got)
	}
	if got, _, size = fetch("a", "./values.yaml", "app/web.yaml", "app"); size > 10_000 || !slices.Contains(got, "values.yaml") || len(got) != 3 {
		t.Errorf("two paths: %d bytes: %v", size, got)
	}
	if got, _, size = fetch("a"); size < large/2 || len(got) != 5 {
		t.Errorf("all: %d bytes: %v", size, got)
	}

	// The next commit changes one file: that is all that is fetched, in as many
	// requests for two paths as for one.
	h.commitAll(t, map[string]string{"app/web.yaml": "web 2"})
	got, requests, size = fetch("b", "app", "values.yaml")
	if len(got) != 3 || requests > one || size > 10_000 {
		t.Errorf("the next commit took %d requests (the first took %d) and %d bytes: %v", requests, one, size, got)
	}
	if got, _, size = fetch("b"); size > 10_000 || len(got) != 5 {
		t.Errorf("all of the next commit took %d bytes: %v", size, got)
	}
}

// What paths link to is there, too, over several links.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.commitAll(t, map[string]string{
		"app/web.yaml": "->../shared/link.yaml", "app/dead": "->nowhere", "app/out": "->../../../etc/hosts", "app/far/x": "->../../shared/near/x",
		"shared/link.yaml": "->real/web.yaml", "shared/real/web.yaml": "web", "shared/real/other": "other", "shared/near": "->real/deep", "shared/real/deep/x": "x", "envs": "->shared/real",
		"a [b]*/c d.yaml": "odd", "a x": "no", "ab/c d.yaml": "no",
	})
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	for _, tt := range []struct {
		paths, want []string
	}{
		{[]string{"app"}, []string{
			"app/dead", "app/far/x", "app/out", "app/web.yaml", "shared/link.yaml", "shared/near", "shared/real/deep/x", "shared/real/web.yaml",
		}},
		{[]string{"envs/web.yaml"}, []string{"envs", "shared/real/deep/x", "shared/real/other", "shared/real/web.yaml"}},
		{[]string{"a [b]*/c d.yaml"}, []string{"a [b]*/c d.yaml"}},
		{[]string{"none"}, nil},
		{[]string{"../x"}, nil},
	} {
		got, err := f.Fetch(t.Context(), task.Git{URL: h.url, Branch: "main", Paths: tt.paths}, "a")
		if err != nil {
			t.Errorf("%v: %v", tt.paths, err)
			continue
		}
		if diff := cmp.Diff(tt.want, files(t, got.Dir)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.paths, diff)
		}
		if text, err := os.ReadFile(filepath.Join(got.Dir, "app/web.yaml")); slices.Contains(tt.paths, "app") && string(text) != "web" {
			t.Errorf("app/web.yaml is %q, %v", text, err)
		}
	}
}

// A host that can't leave out the contents of files sends them all; only what
// is asked for is checked out.
func TestAHostWithoutFilters(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	h.git(t, "-C", strings.TrimSpace(h.git(t, "remote", "get-url", "origin")), "config", "uploadpack.allowFilter", "false")
	h.commitAll(t, map[string]string{"app/web.yaml": "web", "big/a": noise(1000)})
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	for _, paths := range [][]string{{"app"}, {"big"}} {
		before := h.fetches.Load()
		got, err := f.Fetch(t.Context(), task.Git{URL: h.url, Branch: "main", Paths: paths}, "a")
		if err != nil || len(files(t, got.Dir)) != 1 {
			t.Errorf("%v: %v: %v", paths, err, files(t, got.Dir))
		}
		if n := h.fetches.Load() - before; paths[0] == "big" && n != 0 {
			t.Errorf("another path of the same commit took %d requests", n)
		}
	}
}
