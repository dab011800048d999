package source_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
)

func newSources(t *testing.T) *source.Sources {
	t.Helper()
	return source.New(gitfetch.New(t.TempDir(), gitfetch.HostKeys{}), chart.NewRepos(t.TempDir()), t.TempDir())
}

func resolve(t *testing.T, s *source.Sources, since time.Time, src ...gitops.Source) (source.Resolved, error) {
	t.Helper()
	return s.Resolve(t.Context(), source.Wanted{Sources: src, Since: since})
}

// However many applications look at a repository, it is asked once for each poll.
func TestOneQuestionForEachPoll(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	first := host.Commit(map[string]string{"a.yaml": "a: 1"})
	s := newSources(t)
	poll := func() string {
		now := time.Now()
		var all sync.WaitGroup
		got := make([]source.Resolved, 1000)
		for i := range got {
			all.Go(func() {
				var err error
				if got[i], err = s.Resolve(t.Context(), source.Wanted{Sources: []gitops.Source{{RepoURL: host.URL, Path: "a"}}, Since: now}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for _, one := range got {
			if diff := cmp.Diff(got[0], one); diff != "" {
				t.Fatal(diff)
			}
		}
		return got[0].Revisions[0]
	}
	if got := poll(); got != first || host.Asked.Load() != 1 {
		t.Errorf("the first poll gave %s with %d requests; want %s with one", got, host.Asked.Load(), first)
	}
	second := host.Commit(map[string]string{"a.yaml": "a: 2"})
	if got, err := resolve(t, s, time.Time{}, gitops.Source{RepoURL: host.URL}); err != nil || got.Revisions[0] != first || host.Asked.Load() != 1 {
		t.Errorf("an answer that is new enough wasn't taken: %v, %v", got, err)
	}
	if got := poll(); got != second || host.Asked.Load() != 2 {
		t.Errorf("the second poll gave %s with %d requests; want %s with two", got, host.Asked.Load(), second)
	}
}

func TestRevisions(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	first := host.Commit(map[string]string{"a.yaml": "a: 1"})
	host.Push("refs/tags/both")
	second := host.Commit(map[string]string{"a.yaml": "a: 2"})
	host.Push("refs/heads/both")
	s := newSources(t)
	got, err := resolve(t, s, time.Time{}, gitops.Source{RepoURL: host.URL, TargetRevision: first}, gitops.Source{RepoURL: host.URL, TargetRevision: "both"})
	want := source.Resolved{Revisions: []string{first, second}, Conditions: []gitops.Condition{{
		Type:    gitops.ConditionAmbiguousRevision,
		Message: `"both" is a branch and a tag with different commits; the branch counts: write refs/heads/ or refs/tags/ before it in ` + host.URL,
	}}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = resolve(t, s, time.Time{}, gitops.Source{RepoURL: host.URL, TargetRevision: "none"})
	if want := `revision "none" not found in ` + host.URL; !fault.Is(err, fault.NotFound) || err.Error() != want {
		t.Errorf("a revision that isn't there gave %v; want %s", err, want)
	}
	secret := strings.Replace(host.URL, "http://", "http://me:secret@", 1)
	if _, err := resolve(t, s, time.Time{}, gitops.Source{RepoURL: secret, TargetRevision: "none"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a URL with a password gave %v", err)
	}
	// A commit that no name stands for any more is found among those that are here.
	if _, err := s.Open(t.Context(), "", &gitops.Source{RepoURL: host.URL}, nil, first); err != nil {
		t.Fatal(err)
	}
	host.Git("push", "--quiet", "origin", ":refs/tags/both")
	if got, err := resolve(t, s, time.Now(), gitops.Source{RepoURL: host.URL, TargetRevision: first[:8]}); err != nil || got.Revisions[0] != first {
		t.Errorf("%s gave %v, %v; want %s", first[:8], got, err, first)
	}
}

// Links are followed in the repository; nothing leads out of it.
func TestLinks(t *testing.T) {
	t.Parallel()
	host := gittest.New(t)
	commit := host.Commit(map[string]string{
		"app/real.yaml": "text", "app/same": "->real.yaml", "app/up": "->../app/real.yaml", "folder": "->app", "app/out": "->../../etc/passwd", "app/root": "->/etc/passwd",
		"app/a": "->b", "app/b": "->a", "app/dead": "->nothing",
	})
	files, err := newSources(t).Open(t.Context(), "", &gitops.Source{RepoURL: host.URL}, nil, commit)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"app/real.yaml": "text", "/app/real.yaml": "text", "app/same": "text", "app/up": "text", "folder/same": "text", "./app/../app/real.yaml": "text",
		"app/out": "app/out is a link that leads out of the repository", "app/root": "leads out of the repository, to /etc/passwd", "../x": "the path ../x leads out of the repository",
		"app/a": "in a circle", "app/dead": "there is no file", "app/real.yaml/x": "there is no file", "app/none": "there is no file",
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
}
