package mirror_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
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
