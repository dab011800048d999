package errands_test

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/errands"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/task"
)

const repository = "https://git.example.com/team/app.git"

// plane is a control plane whose agents do what a test says. The delegate is the
// only one that asks.
type plane struct {
	apps []string
	asks []errand.Ask
	// looked says how an application is at its nth look.
	looked func(name string, n int, a *errand.App)
	looks  map[string]int
	// document is what is known of each application.
	document string
}

func (p *plane) errand(_ context.Context, q errand.Ask) (errand.Answer, error) {
	p.asks = append(p.asks, q)
	var out errand.Answer
	if q.Do == errand.DoFind {
		out.Left = []string{"api: it is of another service"}
		for _, name := range p.apps {
			out.Apps = append(out.Apps, errand.App{Agent: "eu1", Name: name, Sources: []string{repository}})
		}
	}
	for _, n := range q.Apps {
		a := errand.App{Agent: n.Agent, Name: n.Name}
		switch q.Do {
		case errand.DoRefresh, errand.DoSync, errand.DoRollback:
			a.Request = &errand.Request{ID: string(q.Do) + " " + n.Name}
		case errand.DoLook:
			a.Request = &errand.Request{ID: n.Request, Result: &protocol.Result{}}
			p.looked(n.Name, p.looks[n.Name], &a)
			p.looks[n.Name]++
		case errand.DoDetails:
			a.Document = []byte(p.document)
		case errand.DoUpdate:
			a.Change = errand.Restored
		case errand.DoRollout, errand.DoAct:
			a.Request = &errand.Request{ID: string(q.Do) + " " + n.Name, Result: &protocol.Result{}}
			p.looked(string(q.Do)+" "+q.Seen, p.looks[n.Name], &a)
			p.looks[n.Name]++
		case errand.DoFind:
		}
		out.Apps = append(out.Apps, a)
	}
	return out, nil
}

// asked counts the questions of a kind.
func (p *plane) asked(do errand.Do) int {
	n := 0
	for _, q := range p.asks {
		if q.Do == do {
			n++
		}
	}
	return n
}

// ended is an application whose sync has come to an end.
func ended(a *errand.App, phase gitops.OperationPhase, health gitops.HealthCode) {
	a.Summary = &protocol.Summary{
		Sync: protocol.SyncSummary{Status: gitops.Synced, Revision: "c0ffee0123"}, Health: gitops.HealthStatus{Status: health, Message: "as it is"},
		Operation: &protocol.OperationSummary{Phase: phase, Message: "all of it", Request: "sync " + a.Name}, Rollouts: []string{"shop/" + a.Name},
	}
}

func (p *plane) does(t *testing.T, within time.Duration, spec errand.Applications) (errand.Done, task.Result, *executortest.Env) {
	t.Helper()
	env := executortest.New(t, nil)
	if spec.Op == errand.OpSync {
		spec.Sync = &gitops.Operation{}
		if _, err := env.Checkpoint(t.Context(), errand.Merged("n0"), errand.PullRequest{Repository: "https://git.example.com/team/other", Merged: "beef"}); err != nil {
			t.Fatal(err)
		}
	}
	return p.doesWith(t, env, within, spec)
}

func (p *plane) doesWith(t *testing.T, env *executortest.Env, within time.Duration, spec errand.Applications) (errand.Done, task.Result, *executortest.Env) {
	t.Helper()
	spec.Stage = errand.Stage{Service: "web", Environment: "dev", Clusters: []errand.Cluster{{Identifier: "incluster", Agent: "eu1"}}}
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(task.Work{Execution: "e", Stage: "s", Step: "n1", Spec: text})
	if err != nil {
		t.Fatal(err)
	}
	p.looks, env.Errand = map[string]int{}, p.errand
	kind := executor.Kind{Do: errands.New(gitfetch.New(t.TempDir(), gitfetch.HostKeys{}), errands.Pace{First: time.Microsecond, Last: time.Millisecond})}
	r := env.Does(t, kind, task.Assignment{Kind: errand.KindApplications, Payload: payload, Timeout: within})
	var out errand.Done
	if r.Outputs != nil {
		if err := json.Unmarshal(r.Outputs, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out, r, env
}

func TestFindsApplications(t *testing.T) {
	t.Parallel()
	p := &plane{apps: []string{"web"}}
	out, r, env := p.does(t, time.Minute, errand.Applications{Op: errand.OpFetch})
	if r.Status != task.Succeeded || len(out.GitOps.Applications) != 1 || out.GitOps.Applications[0].URL != "/v1/gitops/applications/eu1/web" {
		t.Errorf("found %+v: %+v", out, r)
	}
	for _, want := range []string{"Identified 1 cluster(s): incluster of agent eu1", "Left out: api: it is of another service", "Found linked app: web. Link - /v1/gitops/applications/eu1/web"} {
		if got := env.Text("Fetch apps", executor.Info); !strings.Contains(got, want) {
			t.Errorf("the log lacks %q:\n%s", want, got)
		}
	}
	p.apps = nil
	if out, r, env := p.does(t, time.Minute, errand.Applications{Op: errand.OpFetch}); r.Status != task.Succeeded || out.GitOps.Applications == nil ||
		!strings.Contains(env.Text("Fetch apps", executor.Error), "No application of service web") {
		t.Errorf("without any: %+v, %+v\n%s", out, r, env.Logged())
	}
}

// What agents say decides how a sync ends; all are waited for.
func TestSyncsApplications(t *testing.T) {
	t.Parallel()
	healthy := func(_ string, _ int, a *errand.App) { ended(a, gitops.OperationSucceeded, gitops.Healthy) }
	for name, tt := range map[string]struct {
		apps   []string
		within time.Duration
		wait   *errand.Wait
		looked func(name string, n int, a *errand.App)
		status task.Status
		says   string // message
		logged string
		check  func(t *testing.T, p *plane, out errand.Done)
	}{
		"at once": {
			apps: []string{"web", "api"}, looked: healthy, status: task.Succeeded, logged: "web: all of it (Synced)",
			check: func(t *testing.T, _ *plane, out errand.Done) {
				t.Helper()
				if got := out.GitOps.Applications; len(got) != 2 || got[0].Revision != "c0ffee0123" || got[0].Sync != gitops.Synced || got[0].Health != gitops.Healthy {
					t.Errorf("the outputs are %+v", got)
				}
				if got := out.GitOps.Rollouts; len(got) != 2 || got[0] != (errand.DiscoveredRollout{Agent: "eu1", Application: out.GitOps.Applications[0].Name, Rollout: out.GitOps.Applications[0].Name, Namespace: "shop"}) {
					t.Errorf("the rollouts are %+v", got)
				}
			},
		},
		"none": {looked: healthy, status: task.Failed, says: "found no applications to sync: none is of service web on the stage's clusters"},
		"one fails, and the other is waited for": {
			apps: []string{"web", "api"}, status: task.Failed, says: "1 of 2 applications failed: web: the sync ended as Failed: all of it", logged: "api: all of it",
			looked: func(name string, n int, a *errand.App) {
				switch {
				case name == "web":
					ended(a, gitops.OperationFailed, gitops.Degraded)
				case n < 9:
					ended(a, gitops.OperationRunning, gitops.Progressing)
				default:
					ended(a, gitops.OperationSucceeded, gitops.Healthy)
				}
			},
		},
		"refused by the agent": {
			apps: []string{"web"}, status: task.Failed, says: "web: a sync window is closed",
			looked: func(_ string, _ int, a *errand.App) {
				if strings.HasPrefix(a.Request.ID, "sync") {
					a.Request.Result = &protocol.Result{Failed: true, Message: "a sync window is closed"}
				}
			},
		},
		"another operation is in progress": {
			apps: []string{"web"}, status: task.Succeeded, logged: "another operation is in progress; it is waited for",
			looked: func(_ string, n int, a *errand.App) {
				if strings.HasPrefix(a.Request.ID, "sync") && n < 6 {
					a.Request.Result = &protocol.Result{Failed: true, Busy: true}
					return
				}
				ended(a, gitops.OperationSucceeded, gitops.Healthy)
			},
			check: func(t *testing.T, p *plane, _ errand.Done) {
				t.Helper()
				if p.asked(errand.DoSync) < 2 {
					t.Error("its own sync isn't asked for again")
				}
			},
		},
		"an operation of somebody else's that ended before": {
			apps: []string{"web"}, status: task.Succeeded,
			looked: func(_ string, n int, a *errand.App) {
				ended(a, gitops.OperationSucceeded, gitops.Healthy)
				if n < 5 {
					a.Summary.Operation.Phase, a.Summary.Operation.Request = gitops.OperationFailed, "another"
				}
			},
		},
		"one that somebody else's drift follows at once": {
			apps: []string{"web"}, status: task.Succeeded,
			looked: func(_ string, _ int, a *errand.App) {
				ended(a, gitops.OperationSucceeded, gitops.Healthy)
				a.Summary.Requested = a.Summary.Operation
				a.Summary.Operation = &protocol.OperationSummary{Phase: gitops.OperationFailed, Message: "the heal", By: gitops.Initiator{Automated: true}}
			},
		},
		"one that others have hidden": {
			apps: []string{"web"}, status: task.Failed, says: "others have synced it since",
			looked: func(_ string, _ int, a *errand.App) {
				ended(a, gitops.OperationSucceeded, gitops.Healthy)
				a.Summary.Operation.Request = "a third"
				a.Summary.Requested = &protocol.OperationSummary{Phase: gitops.OperationSucceeded, Request: "another", StartedAt: time.Now().Add(time.Hour)}
			},
		},
		"until it is healthy": {
			apps: []string{"web"}, wait: &errand.Wait{Healthy: true, Fail: true}, status: task.Succeeded, logged: "web is Healthy",
			looked: func(_ string, n int, a *errand.App) {
				ended(a, gitops.OperationSucceeded, gitops.Progressing)
				if n > 9 {
					a.Summary.Health.Status = gitops.Healthy
				}
			},
		},
		"degraded for too long": {
			apps: []string{"web"}, wait: &errand.Wait{Healthy: true, Degraded: time.Nanosecond}, status: task.Failed, says: "web: it has been Degraded for 1ns: as it is",
			looked: func(_ string, _ int, a *errand.App) { ended(a, gitops.OperationSucceeded, gitops.Degraded) },
		},
		"not healthy in time, which is allowed": {
			apps: []string{"web"}, within: time.Nanosecond, wait: &errand.Wait{Healthy: true}, status: task.Succeeded, says: "web is Progressing when the time is up",
			looked: func(_ string, _ int, a *errand.App) { ended(a, gitops.OperationSucceeded, gitops.Progressing) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plane{apps: tt.apps, looked: tt.looked}
			within := tt.within
			if within == 0 {
				within = time.Hour
			}
			out, r, env := p.does(t, within, errand.Applications{Op: errand.OpSync, Wait: tt.wait})
			if r.Status != tt.status || !strings.Contains(r.Message, tt.says) || !strings.Contains(env.Logged(), tt.logged) {
				t.Errorf("it is %s: %s\n%s", r.Status, r.Message, env.Logged())
			}
			if tt.status == task.Failed && !slices.ContainsFunc(r.FailureTypes, func(f fault.FailureType) bool { return f != "" }) {
				t.Errorf("the failure has the types %q", r.FailureTypes)
			}
			if tt.check != nil {
				tt.check(t, p, out)
			}
		})
	}
}

// Rollouts that pause after a sync are promoted: once, or, while health is waited
// for, as often as they pause.
func TestPromotesRollouts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wait   *errand.Wait
		fails  bool
		status task.Status
		says   string
	}{
		"once":                     {status: task.Succeeded, says: "web: resume is done to its paused Rollouts"},
		"until it is healthy":      {wait: &errand.Wait{Healthy: true, Fail: true}, status: task.Succeeded, says: "web is Healthy"},
		"there are none to resume": {fails: true, status: task.Succeeded, says: "no Rollout of it goes on by resume: it has none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plane{apps: []string{"web"}}
			acted := false
			p.looked = func(name string, n int, a *errand.App) {
				if name != "web" {
					return // the request
				}
				ended(a, gitops.OperationSucceeded, gitops.Suspended)
				switch {
				case strings.HasPrefix(a.Request.ID, "act"):
					acted = true
					a.Request.Result = &protocol.Result{Failed: tt.fails, Message: "it has none"}
				case n < 3:
					a.Summary.Health.Status = gitops.Progressing
				}
				if acted {
					a.Summary.Health.Status = gitops.Healthy
				}
			}
			_, r, env := p.does(t, time.Hour, errand.Applications{Op: errand.OpSync, Promote: "resume", Wait: tt.wait})
			if r.Status != tt.status || !strings.Contains(env.Logged(), tt.says) || p.asked(errand.DoAct) != 1 {
				t.Errorf("it is %s: %s, after %d promotions\n%s", r.Status, r.Message, p.asked(errand.DoAct), env.Logged())
			}
		})
	}
}

// What the stage has merged in an application's repository is seen before the
// application is synced.
func TestWaitsForWhatWasMerged(t *testing.T) {
	t.Parallel()
	p := &plane{apps: []string{"web"}}
	p.looked = func(_ string, n int, a *errand.App) {
		ended(a, gitops.OperationSucceeded, gitops.Healthy)
		if n < 5 {
			a.Summary.Sync.Revision = "0ld"
			if p.asked(errand.DoSync) > 0 {
				t.Error("it is synced before it sees the commit")
			}
		}
	}
	env := executortest.New(t, nil)
	if _, err := env.Checkpoint(t.Context(), errand.Merged("n0"), errand.PullRequest{Repository: strings.TrimSuffix(repository, ".git"), Merged: "c0ffee"}); err != nil {
		t.Fatal(err)
	}
	out, r, _ := p.doesWith(t, env, time.Hour, errand.Applications{Op: errand.OpSync, Sync: &gitops.Operation{}})
	if r.Status != task.Succeeded || out.GitOps.Applications[0].Revision != "c0ffee0123" || p.looks["web"] < 6 {
		t.Errorf("%+v: %+v\n%s", out, r, env.Logged())
	}
}

// A rollback looks at no source before, and waits as a sync does.
func TestRollsBack(t *testing.T) {
	t.Parallel()
	p := &plane{apps: []string{"web"}, looked: func(_ string, _ int, a *errand.App) {
		ended(a, gitops.OperationSucceeded, gitops.Healthy)
		a.Summary.Operation.Request = "rollback " + a.Name
	}}
	_, r, env := p.does(t, time.Hour, errand.Applications{Op: errand.OpRollback, Rollback: &errand.Rollback{Steps: 1}})
	if r.Status != task.Succeeded || p.asked(errand.DoRefresh)+p.asked(errand.DoSync) != 0 || p.asked(errand.DoRollback) != 1 {
		t.Errorf("it is %s: %s\n%s", r.Status, r.Message, env.Logged())
	}
	p.looked = func(_ string, _ int, a *errand.App) {
		a.Request.Result = &protocol.Result{Failed: true, Message: "the history has 1 entries"}
	}
	if _, r, _ := p.does(t, time.Hour, errand.Applications{Op: errand.OpRollback, Rollback: &errand.Rollback{Steps: 1}}); r.Status != task.Failed || !strings.Contains(r.Message, "web: the history has 1 entries") {
		t.Errorf("it is %s: %s", r.Status, r.Message)
	}
}

// What is known of applications is told whole or not at all, after a comparison if that
// is asked for.
func TestTellsOfApplications(t *testing.T) {
	t.Parallel()
	p := &plane{apps: []string{"web", "api"}, document: `{"status":{"health":{"status":"Healthy"}}}`}
	p.looked = func(_ string, n int, a *errand.App) {
		if n > 2 {
			a.ReportedAt = time.Now()
		}
	}
	out, r, _ := p.does(t, time.Hour, errand.Applications{Op: errand.OpDetails, Hard: true})
	if r.Status != task.Succeeded || len(out.GitOps.Applications) != 2 || string(out.GitOps.Applications[1].App) != p.document || p.asked(errand.DoRefresh) != 1 || p.looks["web"] < 3 {
		t.Errorf("it is %s: %s, %+v", r.Status, r.Message, out)
	}
	p.document = `"` + strings.Repeat("x", 300<<10) + `"`
	if _, r, _ := p.does(t, time.Hour, errand.Applications{Op: errand.OpDetails}); r.Status != task.Failed || !strings.Contains(r.Message, "the 2 applications come to 600 kB; a step tells 512 at most") {
		t.Errorf("it is %s: %s", r.Status, r.Message)
	}
	p.apps = nil
	if _, r, _ := p.does(t, time.Hour, errand.Applications{Op: errand.OpDetails}); r.Status != task.Failed || !strings.Contains(r.Message, "found no applications") {
		t.Errorf("it is %s: %s", r.Status, r.Message)
	}
	p.apps = []string{"web"}
	p.looked = func(_ string, _ int, a *errand.App) {
		a.Request.Result = &protocol.Result{Failed: true, Message: "nobody follows it"}
	}
	if _, r, _ := p.does(t, time.Hour, errand.Applications{Op: errand.OpDetails, Hard: true}); r.Status != task.Failed || !strings.Contains(r.Message, "web can't be refreshed: nobody follows it") {
		t.Errorf("it is %s: %s", r.Status, r.Message)
	}
}

// What files of Git say which application sets are the service's goes with each question.
func TestReadsApplicationSets(t *testing.T) {
	t.Parallel()
	repo := gittest.New(t)
	repo.Commit(map[string]string{
		"sets/web.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: web}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n",
		"wrong.yaml":    "{",
	})
	p := &plane{apps: []string{"web-dev"}}
	sets := &errand.Files{Git: task.Git{URL: repo.URL, Branch: "main", Paths: []string{"sets/web.yaml"}}}
	if _, r, env := p.does(t, time.Minute, errand.Applications{Op: errand.OpFetch, Sets: sets}); r.Status != task.Succeeded || !slices.Equal(p.asks[0].Sets, []string{"web"}) || !strings.Contains(env.Text("Fetch apps", executor.Info), "App set Name: web") {
		t.Errorf("it is %s: %s; asked was %+v\n%s", r.Status, r.Message, p.asks, env.Logged())
	}
	for path, want := range map[string]string{"none.yaml": "has no file none.yaml", "wrong.yaml": "wrong.yaml, document 1"} {
		sets.Git.Paths = []string{path}
		if _, r, _ := p.does(t, time.Minute, errand.Applications{Op: errand.OpFetch, Sets: sets}); r.Status != task.Failed || !strings.Contains(r.Message, want) {
			t.Errorf("it is %s: %s; want %q", r.Status, r.Message, want)
		}
	}
}

func TestUpdatesAnApplication(t *testing.T) {
	t.Parallel()
	p := &plane{apps: []string{"web"}}
	out, r, _ := p.does(t, time.Minute, errand.Applications{Op: errand.OpUpdateApp, Update: &amend.Change{}})
	if r.Status != task.Succeeded || r.Message != "web: the document is as it was before the stage" || len(out.GitOps.Applications) != 1 || p.asked(errand.DoUpdate) != 1 {
		t.Errorf("it is %s: %s, %+v", r.Status, r.Message, out)
	}
	p.apps = nil
	if _, r, _ := p.does(t, time.Minute, errand.Applications{Op: errand.OpUpdateApp, Update: &amend.Change{}}); r.Status != task.Failed || !strings.Contains(r.Message, "found 0 applications; the step is about one") {
		t.Errorf("without one it is %s: %s", r.Status, r.Message)
	}
}

// A Rollout's step waits first and acts then, and ends where the Rollout does.
func TestRollsOut(t *testing.T) {
	t.Parallel()
	suspended := errand.Rollout{Namespace: "shop", Name: "web", Action: "resume", Health: gitops.Suspended, Message: "^paused", Fail: true}
	with := func(change func(*errand.Rollout)) errand.Rollout { r := suspended; change(&r); return r }
	for name, tt := range map[string]struct {
		want   errand.Rollout
		is     []gitops.HealthCode // one after the other
		within time.Duration
		act    protocol.Result
		status task.Status
		says   string
		acts   int
	}{
		"as it is to be": {want: suspended, is: []gitops.HealthCode{gitops.Progressing, gitops.Healthy, gitops.Suspended}, status: task.Succeeded, says: "web was Suspended; resume is done", acts: 1},
		"one look":       {want: errand.Rollout{Name: "web"}, is: []gitops.HealthCode{gitops.Degraded}, status: task.Succeeded, says: "web is Degraded"},
		"no wait":        {want: errand.Rollout{Name: "web", Action: "abort"}, is: []gitops.HealthCode{gitops.Progressing}, status: task.Succeeded, says: "abort is done", acts: 1},
		"healthy before": {want: suspended, is: []gitops.HealthCode{gitops.Progressing, gitops.Healthy, gitops.Healthy}, status: task.Succeeded, says: "web is Healthy, and comes to no other end"},
		"degraded":       {want: suspended, is: []gitops.HealthCode{gitops.Degraded, gitops.Degraded}, status: task.Failed, says: "web is Degraded while Suspended is waited for: paused at last"},
		"degraded for":   {want: with(func(r *errand.Rollout) { r.Health = gitops.Degraded }), is: []gitops.HealthCode{gitops.Degraded}, status: task.Succeeded, says: "resume is done", acts: 1},
		"time is up":     {want: with(func(r *errand.Rollout) { r.Fail, r.Message = false, "never" }), is: []gitops.HealthCode{gitops.Suspended}, within: time.Second, status: task.Succeeded, says: "web is Suspended when the time is up, not Suspended; nothing is done to it"},
		"not now": {
			want: suspended, is: []gitops.HealthCode{gitops.Suspended}, act: protocol.Result{Failed: true, Message: `Rollout web has no action "resume" now; there are: restart`},
			status: task.Failed, says: `Action 'resume' failed: Rollout web has no action "resume" now; there are: restart`, acts: 1,
		},
		"none": {want: suspended, status: task.Failed, says: "Rollout argoproj.io web not found as part of application web"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &plane{apps: []string{"web"}}
			p.looked = func(what string, n int, a *errand.App) {
				switch {
				case what == "act ":
					*a.Request.Result = tt.act
				case len(tt.is) == 0:
					*a.Request.Result = protocol.Result{Failed: true, Message: "Rollout argoproj.io web not found as part of application web"}
				default:
					is := tt.is[min(n, len(tt.is)-1)]
					a.Request.Result.Data = []byte(`{"health": {"status": "` + string(is) + `", "message": "paused at last"}, "strategy": "canary", "weight": 20, "sum": "` + string(is) + `"}`)
				}
			}
			out, r, env := p.does(t, cmp.Or(tt.within, time.Hour), errand.Applications{Op: errand.OpRollout, Rollout: &tt.want})
			if r.Status != tt.status || !strings.Contains(r.Message, tt.says) || p.asked(errand.DoAct) != tt.acts {
				t.Errorf("it is %s: %q, after %d actions; want %s: %q\n%s", r.Status, r.Message, p.asked(errand.DoAct), tt.status, tt.says, env.Logged())
			}
			if r.Status == task.Succeeded && (out.GitOps.Rollout == nil || out.GitOps.Rollout.Weight != 20) {
				t.Errorf("the outputs are %+v", out)
			}
		})
	}
}
