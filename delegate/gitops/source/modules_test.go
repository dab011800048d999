package source_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

// with commits a repository with another's commit at a path.
func with(host *gittest.Repository, files map[string]string, at, commit string) string {
	host.Commit(files)
	host.Git("update-index", "--add", "--cacheinfo", "160000,"+commit+","+at)
	host.Git("commit", "--quiet", "-m", "submodule")
	host.Git("push", "--quiet", "origin", "HEAD:main")
	return host.Git("rev-parse", "HEAD")
}

// TestSubmodules: what is in a submodule, and in one of its own, is read as the
// repository's, and only what is looked into is fetched.
func TestSubmodules(t *testing.T) {
	t.Parallel()
	inner, lib, app, away := gittest.New(t), gittest.New(t), gittest.New(t), gittest.New(t)
	deep := inner.Commit(map[string]string{"deep.yaml": "deep"})
	first := with(lib, map[string]string{"base/a.yaml": "one", ".gitmodules": "[submodule \"inner\"]\n\tpath = base/inner\n\turl = " + inner.URL + "\n"}, "base/inner", deep)
	modules := "[submodule \"lib\"]\n\tpath = vendor/lib\n\turl = " + lib.URL + "\n[submodule \"away\"]\n\tpath = away\n\turl = " + away.URL + "\n"
	with(app, map[string]string{"web/b.yaml": "two", ".gitmodules": modules, "linked": "->vendor/lib/base"}, "away", away.Commit(map[string]string{"c": "three"}))
	app.Git("update-index", "--add", "--cacheinfo", "160000,"+first+",vendor/lib")
	app.Git("update-index", "--add", "--cacheinfo", "160000,"+first+",unknown")
	app.Git("commit", "--quiet", "-m", "more")
	app.Git("push", "--quiet", "origin", "HEAD:main")
	commit := app.Git("rev-parse", "HEAD")
	s := newSources(t)
	files, err := s.Open(t.Context(), "", &gitops.Source{RepoURL: app.URL}, nil, commit)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"web/b.yaml": "two", "vendor/lib/base/a.yaml": "one", "vendor/lib/base/inner/deep.yaml": "deep", "linked/inner/deep.yaml": "deep",
		"vendor/lib/none": "there is no file", "unknown/base/a.yaml": "one",
	} {
		found, err := files.Find(t.Context(), at)
		got := ""
		if err == nil {
			var texts [][]byte
			if texts, err = files.Read(t.Context(), 100, found); err == nil {
				got = string(texts[0])
			}
		}
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s gave %q; want %q", at, got, want)
		}
	}
	if away.Fetched.Load() != 0 {
		t.Error("a submodule is fetched that nobody looks into")
	}
	folder, err := files.Find(t.Context(), "vendor/lib/base")
	if err != nil {
		t.Fatal(err)
	}
	whole, err := files.Whole(t.Context(), folder, 1<<20)
	if err != nil || len(whole) != 2 || string(whole["inner/deep.yaml"]) != "deep" {
		t.Errorf("the folder has %q, %v", whole, err)
	}

	// Another commit with the same submodule is the same for who reads only that.
	app.Git("commit", "--quiet", "--allow-empty", "-m", "nothing")
	app.Git("push", "--quiet", "origin", "HEAD:main")
	next, err := s.Open(t.Context(), "", &gitops.Source{RepoURL: app.URL}, nil, app.Git("rev-parse", "HEAD"))
	if err != nil {
		t.Fatal(err)
	}
	seen := files.Seen()
	now, err := next.Now(t.Context(), seen)
	if err != nil {
		t.Fatal(err)
	}
	for what, was := range seen {
		if now[what] != was {
			t.Errorf("%s was %q and is %q", what, was, now[what])
		}
	}
	second := lib.Commit(map[string]string{"base/a.yaml": "another"})
	app.Git("update-index", "--cacheinfo", "160000,"+second+",vendor/lib")
	app.Git("commit", "--quiet", "-m", "newer")
	app.Git("push", "--quiet", "origin", "HEAD:main")
	if next, err = s.Open(t.Context(), "", &gitops.Source{RepoURL: app.URL}, nil, app.Git("rev-parse", "HEAD")); err != nil {
		t.Fatal(err)
	}
	if now, err = next.Now(t.Context(), seen); err != nil || now["= vendor/lib/base/a.yaml"] == seen["= vendor/lib/base/a.yaml"] {
		t.Errorf("a newer submodule is the same: %q, %v", now, err)
	}
}

// TestModuleAddresses: a submodule is elsewhere, or beside its repository, and on a host.
func TestModuleAddresses(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"../app.git/../app.git": "",
		"file:///etc":           `submodule mod: found "file:///etc" as its URL; want one of https, http or ssh`,
		"/srv/git":              `submodule mod: found "/srv/git" as its URL`,
		"../../../../x.git":     "leads out of the host of",
	} {
		app := gittest.New(t)
		own := app.Commit(map[string]string{"a": "text"})
		commit := with(app, map[string]string{".gitmodules": "[submodule \"m\"]\npath = mod\nurl = \"" + said + "\"\n"}, "mod", own)
		files, err := newSources(t).Open(t.Context(), "", &gitops.Source{RepoURL: app.URL}, nil, commit)
		if want != "" {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s gave %v; want %q", said, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Find(t.Context(), "mod/a"); err != nil {
			at, _ := url.Parse(app.URL)
			t.Errorf("%s at %s gave %v", said, at.Path, err)
		}
	}
}
