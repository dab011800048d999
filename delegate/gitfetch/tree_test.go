package gitfetch_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestRefs(t *testing.T) {
	t.Parallel()
	h := newHost(t, "secret")
	first := h.commit(t, "one")
	h.git(t, "tag", "-a", "v1", "-m", "v1")
	h.git(t, "push", "--quiet", "origin", "v1")
	second := h.commit(t, "two")
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	got, err := f.Refs(t.Context(), task.Git{URL: h.url, Password: "secret"})
	want := gitfetch.Refs{"HEAD": second, "refs/heads/main": second, "refs/tags/v1": first, "refs/tags/v1^{tag}": h.git(t, "rev-parse", "v1")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := f.Refs(t.Context(), task.Git{URL: h.url}); err == nil {
		t.Error("a repository told its names without its password")
	}
}

// names are those of what is in a folder, with their kinds.
func names(entries []gitfetch.Entry) map[string]gitfetch.Kind {
	out := map[string]gitfetch.Kind{}
	for _, e := range entries {
		out[e.Name] = e.Kind
	}
	return out
}

func one(t *testing.T, tree *gitfetch.Tree, name string) gitfetch.Entry {
	t.Helper()
	got, err := tree.List(t.Context(), tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(got[tree.Root], func(e gitfetch.Entry) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s in %v", name, got)
	}
	return got[tree.Root][i]
}

// What is read of a commit is fetched, and nothing else; what a later commit
// hasn't changed isn't fetched again.
func TestATreeIsFetchedAsItIsRead(t *testing.T) {
	t.Parallel()
	h := newHost(t, "secret")
	first := h.commitAll(t, map[string]string{"app.yaml": "one", "other/big.bin": "big", "link": "->app.yaml"})
	f := gitfetch.New(t.TempDir(), gitfetch.HostKeys{})
	git := task.Git{URL: h.url, Password: "secret", Commit: first}
	tree, err := f.Tree(t.Context(), git)
	if err != nil {
		t.Fatal(err)
	}
	got, err := tree.List(t.Context(), tree.Root)
	want := map[string]gitfetch.Kind{"app.yaml": gitfetch.Regular, "link": gitfetch.Link, "other": gitfetch.Folder}
	if diff := cmp.Diff(want, names(got[tree.Root])); err != nil || diff != "" {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}
	app, link := one(t, tree, "app.yaml"), one(t, tree, "link")
	before := h.fetches.Load()
	for range 2 {
		texts, err := tree.Blobs(t.Context(), []string{app.ID, link.ID, app.ID}, 100)
		if diff := cmp.Diff(map[string][]byte{app.ID: []byte("one"), link.ID: []byte("app.yaml")}, texts); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	}
	if n := h.fetches.Load() - before; n > 2 { // protocol 2 asks for the names first
		t.Errorf("two files took %d requests", n)
	}
	git.Commit = h.commitAll(t, map[string]string{"other/more.txt": "more"})
	if tree, err = f.Tree(t.Context(), git); err != nil {
		t.Fatal(err)
	}
	before = h.fetches.Load()
	if texts, err := tree.Blobs(t.Context(), []string{one(t, tree, "app.yaml").ID}, 100); err != nil || string(texts[app.ID]) != "one" || h.fetches.Load() != before {
		t.Errorf("what hasn't changed gave %q, %v, with %d requests", texts, err, h.fetches.Load()-before)
	}
	if _, err := tree.Blobs(t.Context(), []string{app.ID}, 2); !fault.Is(err, fault.TooLarge) {
		t.Errorf("more than was wanted gave %v", err)
	}
	git.Password = ""
	if _, err := f.Tree(t.Context(), git); err == nil {
		t.Error("a commit that others fetched opens without the password")
	}
}

// Many readers of one commit don't make a request each.
func TestAllOfACommitComesWhenMuchOfItIsRead(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	files := map[string]string{}
	for i := range 60 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprint(i)
	}
	commit := h.commitAll(t, files)
	tree, err := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}).Tree(t.Context(), task.Git{URL: h.url, Commit: commit})
	if err != nil {
		t.Fatal(err)
	}
	before := h.fetches.Load()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		e := one(t, tree, name)
		if texts, err := tree.Blobs(t.Context(), []string{e.ID}, 100); err != nil || string(texts[e.ID])+".yaml" != name {
			t.Fatalf("%s: %q, %v", name, texts, err)
		}
	}
	if n := h.fetches.Load() - before; n > 2*16+2 {
		t.Errorf("60 files took %d requests", n)
	}
}
