package mirror_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/amend"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// application is one with labels and a destination.
func application(name, service, environment, destination string) string {
	return `gitopsApplication:
  agentIdentifier: eu1
  app:
    apiVersion: argoproj.io/v1alpha1
    kind: Application
    metadata: {name: ` + name + `, labels: {harness.io/serviceRef: ` + service + `, harness.io/envRef: ` + environment + `, team: blue}}
    spec:
      project: default
      source: {repoURL: https://git.example.com/app.git, path: .}
      destination: {` + destination + `, namespace: web}
`
}

// errands are a control plane with applications, and a task of a step about them.
func errands(t *testing.T) (*bench, store.Task) {
	t.Helper()
	b := setup(t)
	here := "server: https://kubernetes.default.svc"
	b.save(application("web-dev", "web", "dev", here))
	b.save(application("web-prod", "web", "prod", here))
	b.save(application("api-dev", "api", "dev", here))
	b.save(application("web-far", "web", "dev", "name: far"))
	b.save(application("web-away", "web", "dev", "server: https://far.example.com"))
	_, err := b.store.Executions.CreateExecution(t.Context(), store.Execution{
		ID: "e1", Scope: scope(), Pipeline: "release", Status: plan.Running, Actor: "ann", StartedAt: now(),
	}, []byte(`{}`), audit.Record{})
	b.ok(err)
	return b, store.Task{ID: "t1", Scope: scope(), Execution: "e1", Node: "n1", Attempt: 1, Kind: errand.KindApplications}
}

func ofStage() errand.Applications {
	return errand.Applications{
		Op:    errand.OpSync,
		Stage: errand.Stage{Service: "web", Environment: "dev", Clusters: []errand.Cluster{{Identifier: "incluster", Agent: "eu1", Name: "in-cluster", Server: "https://kubernetes.default.svc"}}},
		Sync:  &gitops.Operation{Sync: &gitops.SyncRequest{}},
	}
}

// A step is about the applications of its stage, whichever it names.
func TestWhichApplicationsAStepIsAbout(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	for name, tt := range map[string]struct {
		change func(*errand.Applications)
		want   string // names
		left   int
		fails  string
	}{
		"those of the stage": {func(*errand.Applications) {}, "web-dev", 0, ""},
		"of any service":     {func(s *errand.Applications) { s.Choice.AnyService = true }, "api-dev web-dev web-prod", 0, ""},
		"on another cluster": {func(s *errand.Applications) {
			s.Stage.Clusters[0] = errand.Cluster{Identifier: "f", Agent: "eu1", Name: "far", Server: "https://far.example.com"}
		}, "web-away web-far", 0, ""},
		"of another agent":     {func(s *errand.Applications) { s.Stage.Clusters[0].Agent = "account.eu1" }, "", 0, ""},
		"by a pattern":         {func(s *errand.Applications) { s.Choice.Pattern = "-dev$" }, "web-dev", 1, ""},
		"by a label":           {func(s *errand.Applications) { s.Choice.Labels = []string{"team:blue"} }, "web-dev", 4, ""},
		"by a text of a label": {func(s *errand.Applications) { s.Choice.Labels = []string{"lu", "ap"} }, "", 1, ""},
		"by its name":          {func(s *errand.Applications) { s.Choice.Named = []errand.Named{{Agent: "eu1", Name: "web-dev"}} }, "web-dev", 0, ""},
		"of another service, by its name": {
			func(s *errand.Applications) { s.Choice.Named = []errand.Named{{Agent: "eu1", Name: "api-dev"}} }, "", 0,
			"application api-dev: Application does not correspond to the service(s) selected in the pipeline execution",
		},
		"by a name that nothing has": {
			func(s *errand.Applications) { s.Choice.Named = []errand.Named{{Agent: "eu1", Name: "none"}} }, "", 0, `there is no application "none" of agent eu1`,
		},
		"by a wrong pattern": {func(s *errand.Applications) { s.Choice.Pattern = "[" }, "", 0, "applicationRegex: error parsing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := ofStage()
			tt.change(&spec)
			got, err := b.mirror.Errand(t.Context(), task, spec, errand.Ask{Do: errand.DoFind})
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("found %v; want %q", err, tt.fails)
				}
				return
			}
			b.ok(err)
			var names []string
			for _, a := range got.Apps {
				names = append(names, a.Name)
			}
			slices.Sort(names)
			if strings.Join(names, " ") != tt.want || len(got.Left) != tt.left {
				t.Errorf("found %q and left %q; want %q and %d", names, got.Left, tt.want, tt.left)
			}
		})
	}
}

// What is asked for again is the same request; another round and another attempt
// are others. Of applications and requests that aren't the step's nothing is told.
func TestErrandsAreDoneOnce(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	ask := func(task store.Task, q errand.Ask) (errand.Answer, error) {
		return b.mirror.Errand(t.Context(), task, ofStage(), q)
	}
	web := []errand.Named{{Agent: "eu1", Name: "web-dev"}}
	var ids []string
	request := func(task store.Task, q errand.Ask) string {
		t.Helper()
		q.Apps = web
		got, err := ask(task, q)
		b.ok(err)
		id := got.Apps[0].Request.ID
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
		return id
	}
	first := request(task, errand.Ask{Do: errand.DoSync})
	if again := request(task, errand.Ask{Do: errand.DoSync}); again != first {
		t.Errorf("asked again it is request %s, and was %s", again, first)
	}
	another := task
	another.Attempt = 2
	request(task, errand.Ask{Do: errand.DoSync, Round: 1})
	request(task, errand.Ask{Do: errand.DoRefresh})
	request(another, errand.Ask{Do: errand.DoSync})
	if len(ids) != 4 {
		t.Errorf("the requests are %q; want 4", ids)
	}
	open, err := b.store.OpenGitOps(t.Context(), agent())
	b.ok(err)
	if len(open) != len(ids) || open[0].Request.By != "ann" {
		t.Errorf("the agent has %+v; want %d by ann", open, len(ids))
	}
	_, err = b.mirror.Hello(t.Context(), agent(), hello(1))
	b.ok(err)
	b.ok(b.mirror.Answer(t.Context(), agent(), protocol.Answer{Lead: hello(1).Lead, ID: first, Result: protocol.Result{Failed: true, Message: "busy", Busy: true}}))
	got, err := ask(task, errand.Ask{Do: errand.DoLook, Apps: []errand.Named{{Agent: "eu1", Name: "web-dev", Request: first}}})
	b.ok(err)
	if r := got.Apps[0].Request; r.Result == nil || !r.Result.Busy {
		t.Errorf("what became of the request is %+v", r)
	}
	strange, err := b.mirror.Ask(t.Context(), store.EntityKey{Scope: scope(), Kind: "gitopsApplication", Env: "eu1", ID: "web-dev"}, protocol.Request{Kind: protocol.RequestRefresh}, audit.Author{Actor: "bob"})
	b.ok(err)
	back := ofStage()
	back.Rollback, back.Choice = &errand.Rollback{Steps: 2, Prune: true}, errand.Choice{Named: []errand.Named{{Agent: "eu1", Name: "web-dev", Steps: 3}}}
	rolled, err := b.mirror.Errand(t.Context(), task, back, errand.Ask{Do: errand.DoRollback, Apps: web})
	b.ok(err)
	kept, err := b.store.GitOpsRequest(t.Context(), agent(), rolled.Apps[0].Request.ID)
	b.ok(err)
	if r := kept.Request; r.Kind != protocol.RequestRollback || r.Steps != 3 || r.History != 0 || !r.Prune || r.By != "ann" {
		t.Errorf("the rollback is %+v", r)
	}
	told, err := ask(task, errand.Ask{Do: errand.DoDetails, Apps: web})
	b.ok(err)
	if doc := string(told.Apps[0].Document); !strings.HasPrefix(doc, `{"apiVersion":"argoproj.io/v1alpha1","kind":"Application","metadata":{"name":"web-dev"`) {
		t.Errorf("what is known is %s", doc)
	}
	for name, q := range map[string]errand.Ask{
		"a rollback by a sync":             {Do: errand.DoRollback, Apps: web},
		"details of another service's":     {Do: errand.DoDetails, Apps: []errand.Named{{Agent: "eu1", Name: "api-dev"}}},
		"a sync of another service's":      {Do: errand.DoSync, Apps: []errand.Named{{Agent: "eu1", Name: "api-dev"}}},
		"a look without a request":         {Do: errand.DoLook, Apps: web},
		"a look at somebody's request":     {Do: errand.DoLook, Apps: []errand.Named{{Agent: "eu1", Name: "web-dev", Request: strange.ID}}},
		"a look at another's by a request": {Do: errand.DoLook, Apps: []errand.Named{{Agent: "eu1", Name: "api-dev", Request: first}}},
	} {
		if _, err := ask(task, q); !fault.Is(err, fault.Forbidden) {
			t.Errorf("%s: %v; want it forbidden", name, err)
		}
	}
	if _, err := ask(another, errand.Ask{Do: errand.DoLook, Apps: []errand.Named{{Agent: "eu1", Name: "web-dev", Request: first}}}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("the next attempt looks at the first one's request: %v", err)
	}
	task.Kind = "shell"
	if _, err := ask(task, errand.Ask{Do: errand.DoFind}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a task of another kind: %v", err)
	}
}

// What the service's sets make is the service's, unless a label says something else.
func TestApplicationsOfSetsInErrands(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	b.save(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: web}
spec: {generators: [{list: {elements: []}}], template: {metadata: {name: x}, spec: {project: default, destination: {name: in-cluster}, source: {repoURL: u, path: .}}}}
`)
	_, err := b.mirror.Hello(t.Context(), agent(), hello(1))
	b.ok(err)
	of := func(name string, labels map[string]string) protocol.App {
		app := gitops.Application{Meta: gitops.Meta{Name: name, Labels: labels}, Spec: gitops.ApplicationSpec{Destination: gitops.Destination{Name: "in-cluster"}}}
		return protocol.App{AppKey: protocol.AppKey{Name: name}, Summary: &protocol.Summary{Generated: &protocol.Generated{Set: "web", Application: app}}}
	}
	_, err = b.mirror.Report(t.Context(), agent(), protocol.Report{Lead: hello(1).Lead, Seq: 1, Apps: []protocol.App{
		of("made", nil), of("other", map[string]string{"harness.io/serviceRef": "api"}),
		{AppKey: protocol.SetKey("web"), Summary: &protocol.Summary{Set: &protocol.Set{Applications: []string{"made", "other"}}}},
	}})
	b.ok(err)
	spec := ofStage()
	spec.Sets, spec.Update = &errand.Files{}, &amend.Change{Source: amend.Source{Path: "there"}}
	for _, tt := range []struct {
		sets []string
		want string
	}{{[]string{"web"}, "made web-dev"}, {[]string{"api"}, "web-dev"}, {nil, "web-dev"}} {
		got, err := b.mirror.Errand(t.Context(), task, spec, errand.Ask{Do: errand.DoFind, Sets: tt.sets})
		b.ok(err)
		var names []string
		for _, a := range got.Apps {
			names = append(names, a.Name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != tt.want {
			t.Errorf("of the sets %q are %q; want %s", tt.sets, names, tt.want)
		}
	}
	made := errand.Named{Agent: "eu1", Name: "made"}
	spec.Choice.Named = []errand.Named{made}
	_, err = b.mirror.Amend(t.Context(), task, spec, errand.Ask{Sets: []string{"web"}, Apps: []errand.Named{made}}, nothing)
	if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "is made by the application set web") {
		t.Errorf("a change of what a set makes gives %v", err)
	}
	spec.Sets = nil
	if _, err := b.mirror.Errand(t.Context(), task, spec, errand.Ask{Do: errand.DoFind, Sets: []string{"web"}}); err == nil {
		t.Error("a delegate names sets where the task has none, and is believed")
	}
}

func nothing(string) (json.RawMessage, bool) { return nil, false }

// A document is changed in its text, and made what it was before.
func TestAmend(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	web := errand.Named{Agent: "eu1", Name: "web-dev"}
	spec := ofStage()
	spec.Choice.Named, spec.Update = []errand.Named{web}, &amend.Change{Source: amend.Source{Path: "there"}}
	q := errand.Ask{Apps: []errand.Named{web}}
	got, err := b.mirror.Amend(t.Context(), task, spec, q, nothing)
	b.ok(err)
	if got.Change != errand.Changed || !strings.Contains(string(got.Text), "path: there") || strings.Contains(string(got.Before), "path: there") || got.By.Actor != "ann" || got.Version != 1 {
		t.Errorf("the change is %+v", got)
	}
	spec.Update = &amend.Change{Source: amend.Source{Path: "."}}
	if got, err := b.mirror.Amend(t.Context(), task, spec, q, nothing); err != nil || got.Change == errand.Untouched {
		t.Errorf("what it says already is %+v, %v", got, err)
	}
	spec.Update = &amend.Change{}
	if got, err := b.mirror.Amend(t.Context(), task, spec, q, nothing); err != nil || got.Change != errand.Untouched {
		t.Errorf("without a change before, what is restored is %+v, %v", got, err)
	}
	kept := func(key string) (json.RawMessage, bool) {
		return json.RawMessage(`"as it was"`), key == errand.Before("eu1", "web-dev")
	}
	if got, err := b.mirror.Amend(t.Context(), task, spec, q, kept); err != nil || got.Change != errand.Restored || string(got.Text) != "as it was" {
		t.Errorf("what is restored is %+v, %v", got, err)
	}
	spec.Update = &amend.Change{Source: amend.Source{Images: []string{"web:2"}}, Sources: []amend.Source{{}, {}}}
	if _, err := b.mirror.Amend(t.Context(), task, spec, q, nothing); err == nil || !strings.Contains(err.Error(), "application web-dev: sources[1]: the application has 1 sources") {
		t.Errorf("what can't be is %v", err)
	}
	spec.Update = nil
	if _, err := b.mirror.Amend(t.Context(), task, spec, q, nothing); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a step that changes nothing changes a document: %v", err)
	}
}

// A Rollout is looked at, and touched, only as the step says.
func TestRolloutErrands(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	web := errand.Named{Agent: "eu1", Name: "web-dev"}
	spec := ofStage()
	spec.Choice.Named, spec.Rollout = []errand.Named{web}, &errand.Rollout{Namespace: "shop", Name: "web"}
	if _, err := b.mirror.Errand(t.Context(), task, spec, errand.Ask{Do: errand.DoAct, Apps: []errand.Named{web}}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("an action that the step doesn't have is %v", err)
	}
	spec.Rollout.Action = "resume"
	for _, q := range []errand.Ask{{Do: errand.DoRollout, Seen: "a", Round: 3}, {Do: errand.DoAct}} {
		q.Apps = []errand.Named{web}
		got, err := b.mirror.Errand(t.Context(), task, spec, q)
		b.ok(err)
		kept, err := b.store.GitOpsRequest(t.Context(), agent(), got.Apps[0].Request.ID)
		b.ok(err)
		which := protocol.Which{Group: "argoproj.io", Kind: "Rollout", Namespace: "shop", Name: "web"}
		switch r := kept.Request; q.Do {
		case errand.DoRollout:
			if r.Kind != protocol.RequestRollout || r.Look == nil || r.Look.Which != which || !r.Look.Follow || r.Look.Seen != "a" {
				t.Errorf("the look is %+v", r)
			}
		default:
			if r.Kind != protocol.RequestAction || r.Touch == nil || r.Touch.Which != which || r.Touch.Action != "resume" || r.Touch.All {
				t.Errorf("the action is %+v", r)
			}
		}
		if _, err := b.mirror.Errand(t.Context(), task, spec, errand.Ask{Do: errand.DoLook, Apps: []errand.Named{{Agent: "eu1", Name: "web-dev", Request: got.Apps[0].Request.ID}}}); err != nil {
			t.Errorf("what became of it: %v", err)
		}
	}
}

// A sync promotes the Rollouts of its applications that pause, as the step says, and no
// others.
func TestSyncsPromoteRollouts(t *testing.T) {
	t.Parallel()
	b, task := errands(t)
	q := errand.Ask{Do: errand.DoAct, Apps: []errand.Named{{Agent: "eu1", Name: "web-dev"}}}
	spec := ofStage()
	if _, err := b.mirror.Errand(t.Context(), task, spec, q); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a promotion that the step doesn't have is %v", err)
	}
	spec.Promote = "promote-full"
	got, err := b.mirror.Errand(t.Context(), task, spec, q)
	b.ok(err)
	kept, err := b.store.GitOpsRequest(t.Context(), agent(), got.Apps[0].Request.ID)
	b.ok(err)
	want := protocol.Touch{Which: protocol.Which{Group: "argoproj.io", Kind: "Rollout"}, All: true, Ready: true, Action: "promote-full"}
	if diff := cmp.Diff(&want, kept.Request.Touch); diff != "" || kept.Request.Kind != protocol.RequestAction {
		t.Errorf("a request of the kind %s (-want +got):\n%s", kept.Request.Kind, diff)
	}
}
