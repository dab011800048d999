package release_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/release"
	"github.com/slipway-cd/slipway/internal/testservers"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/task"
)

// world is a host with a stage's steps.
type world struct {
	*testservers.PullHost

	tb  testing.TB
	typ string // of the connector
	env *executortest.Env
	do  executor.Executor
}

const values = `# of the team
image:
  tag: "1.0" # the newest
  pull: Always
containers:
  - image: a
  - image: b
`

func newWorld(tb testing.TB, typ string) *world {
	tb.Helper()
	w := &world{PullHost: testservers.Pulls(tb, map[string]string{"dev/values.yaml": values, "dev/config.json": "{\n  \"replicas\": 1\n}\n"}), tb: tb, typ: typ}
	w.env = executortest.New(tb, nil)
	w.do = release.New(release.Config{Git: gitfetch.New(tb.TempDir(), gitfetch.HostKeys{}), Look: time.Millisecond})
	return w
}

// spec is what every step's task has.
func (w *world) spec(op errand.ReleaseOp) errand.Release {
	s := errand.Release{Op: op, Host: task.GitHost{Type: w.typ, Repository: "team/app", Server: task.Server{URL: w.URL, Auth: task.AuthBearer, Token: w.Token}}}
	s.Git = task.Git{URL: w.URL + "/team/app.git", Branch: "main"}
	switch w.typ {
	case "Github":
		s.Host.Server.URL += "/api/v3"
	case "Gitlab":
		s.Host.Server.URL += "/api/v4"
	case "AzureRepo":
		s.Git.URL, s.Host.Repository = w.URL+"/team/project/_git/app", "team/project/app"
		s.Host.Server = task.Server{URL: w.URL, Auth: task.AuthBasic, Password: w.Token}
	case "Bitbucket":
		s.Host.Server = task.Server{URL: w.URL + "/2.0", Auth: task.AuthBasic, Username: "ann", Password: w.Token}
	}
	return s
}

// update is the task of a step that writes values.
func (w *world) update(node string, values ...errand.Value) errand.Release {
	s := w.spec(errand.OpUpdate)
	s.Title, s.Node, s.Branch = "Change", node, "slipway/p-"+node
	s.Update = &errand.Update{Files: []string{"dev/values.yaml"}, Values: values}
	return s
}

func (w *world) merge(squash, remove bool) errand.Release {
	s := w.spec(errand.OpMerge)
	s.Merge = &errand.Merge{Squash: squash, Delete: remove}
	return s
}

// run does a task.
func (w *world) run(ctx context.Context, s errand.Release) (errand.Released, task.Result, error) {
	w.tb.Helper()
	spec, err := json.Marshal(s)
	if err != nil {
		w.tb.Fatal(err)
	}
	payload, err := json.Marshal(task.Work{Execution: "e", Stage: "s", Step: s.Node, Spec: spec})
	if err != nil {
		w.tb.Fatal(err)
	}
	env := w.env.Env
	dir := w.tb.TempDir() // each try has one of its own
	env.Dir = func() (string, error) { return dir, nil }
	r, err := w.do(ctx, task.Assignment{Kind: errand.KindRelease, Payload: payload, Timeout: time.Minute}, env)
	var out errand.Released
	if r.Outputs != nil {
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			w.tb.Fatal(err)
		}
	}
	return out, r, err
}

// did does a task that succeeds.
func (w *world) did(s errand.Release) errand.Released {
	w.tb.Helper()
	out, r, err := w.run(w.tb.Context(), s)
	if err != nil || r.Status != task.Succeeded {
		w.tb.Fatalf("%s: %+v, %v", s.Op, r, err)
	}
	return out
}

// On each host a change is proposed, merged and its branch deleted; each step done
// twice comes to the same.
func TestProposesAndMerges(t *testing.T) {
	t.Parallel()
	for _, typ := range []string{"Github", "Gitlab", "AzureRepo", "Bitbucket"} {
		for _, squash := range []bool{false, true} {
			t.Run(typ+map[bool]string{true: " squashed"}[squash], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, typ)
				change := w.update("a", errand.Value{Path: "image.tag", Value: "2.0"}, errand.Value{Path: "containers[1].image", Value: "c"})
				first := w.did(change)
				if first.Update.PullRequest == nil || first.Update.PullRequest.Number != 1 || first.Update.Commit == "" {
					t.Fatalf("the outcome is %+v", first.Update)
				}
				if again := w.did(change); again.Update.Commit != first.Update.Commit || w.Count() != 1 || len(again.Update.Files) != 1 {
					t.Errorf("done again it is %+v, with %d pull requests", again.Update, w.Count())
				}
				merged := w.did(w.merge(squash, true))
				want := strings.NewReplacer(`"1.0"`, `"2.0"`, "image: b", "image: c").Replace(values)
				if got := w.File("main", "dev/values.yaml") + "\n"; got != want {
					t.Errorf("the file is\n%s", got)
				}
				if head := w.Git("rev-parse", "main"); !strings.HasPrefix(head, merged.Merge.Commit) || merged.Merge.Commit == "" {
					t.Errorf("merged as %q; main is at %s", merged.Merge.Commit, head)
				}
				if again := w.did(w.merge(squash, true)); again.Merge.Commit != merged.Merge.Commit {
					t.Errorf("merged again it is %q", again.Merge.Commit)
				}
				if got := w.Git("branch", "--list", "slipway/*"); got != "" {
					t.Errorf("branches are left: %s", got)
				}
			})
		}
	}
}

// A delegate that is killed between the push and the pull request leaves a branch,
// which the next one finds.
func TestGoesOnAfterThePush(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Github")
	change := w.update("a", errand.Value{Path: "image.tag", Value: "2.0"})
	w.FailNext(http.MethodPost)
	if _, r, err := w.run(t.Context(), change); err == nil && r.Status == task.Succeeded {
		t.Fatal("the pull request was made although the host failed")
	}
	pushed := w.Git("rev-parse", change.Branch)
	if out := w.did(change); out.Update.Commit != pushed || w.Count() != 1 || strings.Join(out.Update.Files, " ") != "dev/values.yaml" {
		t.Errorf("the second try is %+v: it has commit %s and made %d pull requests; the first pushed %s", out.Update, out.Update.Commit, w.Count(), pushed)
	}
	// Somebody else's branch of that name is left alone.
	other := change
	other.Node = "b"
	w.refuses(other, "isn't this step's")
}

// refuses does a task that fails with words.
func (w *world) refuses(s errand.Release, words string) {
	w.tb.Helper()
	_, r, err := w.run(w.tb.Context(), s)
	if said := r.Message; err != nil || r.Status != task.Failed || !strings.Contains(said, words) {
		w.tb.Errorf("%s: %+v, %v; want a failure with %q", s.Op, r, err, words)
	}
}

// What changes nothing makes no pull request, unless that is wanted.
func TestChangesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Github")
	same := w.update("a", errand.Value{Path: "image.tag", Value: "1.0"})
	w.refuses(same, "No files were committed. Hence not creating a pull request")
	same.Update.AllowNoChange = true
	if out := w.did(same); out.Update.PullRequest != nil || w.Count() != 0 {
		t.Errorf("the outcome is %+v", out.Update)
	}
	if out := w.did(w.merge(false, false)); out.Merge.PullRequest != nil || out.Merge.Commit != "" {
		t.Errorf("merged %+v", out.Merge)
	}
	same.Update.AllowEmptyCommit = true
	if out := w.did(same); out.Update.PullRequest == nil {
		t.Errorf("the outcome is %+v; want an empty commit", out.Update)
	}
	missing := w.update("b", errand.Value{Path: "replicas", Value: "2", Number: true})
	missing.Update.Files = []string{"prod/values.yaml", "dev/config.json"}
	if out := w.did(missing); strings.Join(out.Update.Files, " ") != "prod/values.yaml dev/config.json" || w.File(missing.Branch, "prod/values.yaml") != "replicas: 2" {
		t.Errorf("the outcome is %+v", out.Update)
	}
	missing = w.update("c", errand.Value{Path: "replicas", Value: "2", Number: true})
	missing.Update.Files, missing.Update.IgnoreFiles = []string{"prod/values.yaml"}, true
	w.refuses(missing, "No files were committed")
}

// A merge waits for what the host wants, and gives up on what can't be merged.
func TestWaitsToMerge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Github")
	w.did(w.update("a", errand.Value{Path: "image.tag", Value: "2.0"}))
	looks := 0
	w.Blocked = func() bool { looks++; return looks < 3 }
	w.did(w.merge(false, false))
	w.Blocked = func() bool { return false }
	// Two that change the same line.
	one, two := w.update("b", errand.Value{Path: "image.tag", Value: "3.0"}), w.update("c", errand.Value{Path: "image.tag", Value: "4.0"})
	w.did(one)
	w.did(two)
	w.Merge(2)
	w.refuses(w.merge(false, false), "it has conflicts with its target")
	w.Close(3)
	w.refuses(w.merge(false, false), "pull request 3 was closed, and not merged")
}

// waitForMerge goes on once somebody has merged, and fails once somebody has closed.
func TestWaitsForSomebody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Gitlab")
	change := w.update("a", errand.Value{Path: "image.tag", Value: "2.0"})
	change.Update.Wait = true
	ctx, stop := context.WithCancelCause(t.Context())
	looks := 0
	w.Blocked = func() bool {
		if looks++; looks == 3 {
			stop(executor.ErrCancelled)
		}
		return false
	}
	if _, _, err := w.run(ctx, change); err == nil {
		t.Error("an abort doesn't end the wait")
	}
	w.Blocked = func() bool { return false }
	w.Merge(1)
	if out := w.did(change); out.Update.PullRequest.Number != 1 {
		t.Errorf("the outcome is %+v", out.Update)
	}
	other := w.update("b", errand.Value{Path: "image.tag", Value: "3.0"})
	w.did(other)
	w.Close(2)
	other.Update.Wait = true
	w.refuses(other, "pull request 2 was closed, and not merged")
}

// A host that lets nobody in has failed the authentication.
func TestRefusedByTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Github")
	change := w.update("a", errand.Value{Path: "image.tag", Value: "2.0"})
	change.Host.Server.Token = "wrong"
	_, r, err := w.run(t.Context(), change)
	if err == nil && (r.Status != task.Failed || len(r.FailureTypes) == 0 || r.FailureTypes[0] != fault.Authentication) {
		t.Errorf("%+v, %v; want an authentication failure", r, err)
	}
	if strings.Contains(r.Message, "wrong") {
		t.Errorf("the token is in %q", r.Message)
	}
}

func (w *world) revert(node, commit string) errand.Release {
	s := w.spec(errand.OpRevert)
	s.Title, s.Node, s.Branch, s.Commit = "Take back", node, "slipway/p-"+node, commit
	return s
}

// A release is taken back by the commit of its branch as by that of its merge, however
// it was merged. What came after it stays.
func TestReverts(t *testing.T) {
	t.Parallel()
	for _, squash := range []bool{false, true} {
		for _, of := range []string{"the merge", "the branch"} {
			t.Run(of+map[bool]string{true: " squashed"}[squash], func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, "Github")
				proposed := w.did(w.update("a", errand.Value{Path: "image.tag", Value: "2.0"}))
				commit := w.did(w.merge(squash, true)).Merge.Commit
				if of == "the branch" {
					commit = proposed.Update.Commit
				}
				w.did(w.update("b", errand.Value{Path: "containers[1].image", Value: "c"}))
				w.did(w.merge(squash, true))
				back := w.revert("r", commit)
				w.FailNext(http.MethodPost) // and the delegate is lost
				if _, r, err := w.run(t.Context(), back); err == nil && r.Status == task.Succeeded {
					t.Fatal("the pull request was made although the host failed")
				}
				first := w.did(back)
				if again := w.did(back); again.Revert.Commit != first.Revert.Commit || w.Count() != 3 || strings.Join(again.Revert.Files, " ") != "dev/values.yaml" {
					t.Errorf("done again it is %+v, with %d pull requests", again.Revert, w.Count())
				}
				w.did(w.merge(squash, true))
				if got, want := w.File("main", "dev/values.yaml")+"\n", strings.Replace(values, "image: b", "image: c", 1); got != want {
					t.Errorf("the file is\n%s", got)
				}
				none := w.did(w.revert("again", commit))
				if merged := w.did(w.merge(squash, true)); none.Revert.PullRequest != nil || merged.Merge.PullRequest != nil || w.Count() != 3 {
					t.Errorf("reverted twice it is %+v, merged as %+v", none.Revert, merged.Merge)
				}
			})
		}
	}
}

// What wasn't merged needs no revert, and isn't merged in place of one. What others
// have changed since isn't overwritten.
func TestRevertsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "Github")
	open := w.did(w.update("a", errand.Value{Path: "image.tag", Value: "2.0"}))
	if out := w.did(w.revert("r", open.Update.Commit)); out.Revert.PullRequest != nil {
		t.Errorf("reverted what wasn't merged: %+v", out.Revert)
	}
	if out := w.did(w.merge(false, false)); out.Merge.PullRequest != nil || !strings.Contains(w.File("main", "dev/values.yaml"), `"1.0"`) {
		t.Errorf("merged what was to be taken back: %+v", out.Merge)
	}
	w.refuses(w.revert("unknown", "0123456789abcdef0123456789abcdef01234567"), "isn't in branch main, nor was it made by a step of the stage")
	other := newWorld(t, "Github")
	other.did(other.update("a", errand.Value{Path: "image.tag", Value: "2.0"}))
	merged := other.did(other.merge(false, true)).Merge.Commit
	other.did(other.update("b", errand.Value{Path: "image.tag", Value: "3.0"}))
	other.did(other.merge(false, true))
	other.refuses(other.revert("r", merged), "conflicts with its revert, in dev/values.yaml")
}
