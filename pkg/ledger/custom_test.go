package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// find settles a task that found instances of a custom deployment.
func (b *books) find(version string, names ...string) {
	b.Helper()
	b.tasks++
	id := task.ID(fmt.Sprint("f", b.tasks))
	_, err := b.store.CreateExecution(b.Context(), store.Execution{
		ID: string(id), Scope: scope(), Pipeline: "deploy", PlanHash: "h", Status: plan.Running, Actor: "ann", StartedAt: b.now,
	}, []byte("{}"), audit.Record{Scope: scope()})
	b.must(err)
	payload, err := json.Marshal(task.Instances{Stage: "stage", Target: task.InstancesTarget{Service: "web", Environment: "prod", Infrastructure: "hall", Image: version}, Script: task.Shell{Script: "list ((1))"}})
	b.must(err)
	b.now = b.now.Add(1)
	_, err = b.store.CreateTask(b.Context(), store.Task{
		ID: id, Scope: scope(), Execution: string(id), Node: "step", Kind: task.KindInstances, Payload: payload, CreatedAt: b.now,
		Secrets: map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"}), "((2))": "other"},
	})
	b.must(err)
	c := task.Change{Target: "custom:hall", Action: "found"}
	for _, n := range names {
		c.Instances = append(c.Instances, task.Instance{Name: n, Images: []string{version}})
	}
	b.must(b.Settle(b.Context(), id, task.Result{Status: task.Succeeded, Changes: []task.Change{c}}))
}

// Instances of a custom deployment are those that its script found last, even
// if these are none. A delegate that runs scripts looks for them again.
func TestInstancesOfCustomDeployments(t *testing.T) {
	t.Parallel()
	b := open(t)
	k := store.PlacementKey{Scope: scope(), Service: "web", Environment: "prod", Infrastructure: "hall", Target: "custom:hall"}
	for _, tt := range []struct {
		version string
		names   []string
		want    string
	}{
		{"1.4", []string{"press", "lathe"}, "1.4 map[1.4:2] false"},
		{"1.5", []string{"press"}, "1.5 map[1.5:1] false"},
		{"1.5", nil, "1.5 map[] true"},
	} {
		b.find(tt.version, tt.names...)
		p, err := b.store.Placement(t.Context(), k)
		b.must(err)
		got := fmt.Sprint(p.Deployed.Artifact, " ", ledger.Versions(p), " ", !p.Expires().IsZero())
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", tt.names, diff)
		}
	}
	d := b.delegate("d")
	d.Kinds = append(d.Kinds, task.KindInstances)
	if w := b.ask(b.delegate("of clusters")); len(w.Watch) > 0 {
		t.Errorf("a delegate that runs no scripts is to watch %+v", w.Watch)
	}
	w := b.ask(d).Watch
	if len(w) != 1 || w[0].Place.Script == nil || w[0].Place.Script.Script.Script != "list ((1))" {
		t.Fatalf("a delegate is to watch %+v", w)
	}
	if diff := cmp.Diff(map[string]string{"((1))": "open sesame"}, w[0].Secrets); diff != "" {
		t.Errorf("its secrets (-want +got):\n%s", diff)
	}
	b.must(b.Observe(t.Context(), d, task.Observed{Watched: task.Watched{ID: w[0].ID, Fence: w[0].Fence}, Instances: []task.Instance{{Name: "mill", Images: []string{"1.5"}}}}))
	p, err := b.store.Placement(t.Context(), k)
	b.must(err)
	if len(p.Seen.Instances) != 1 || p.Seen.Instances[0].Name != "mill" {
		t.Errorf("the ledger has %+v", p.Seen.Instances)
	}
}

// A cluster's token may be fetched from another manager: then its watch says
// how, with the secrets that this takes.
func TestWatchesWithSecretsThatAreFetched(t *testing.T) {
	t.Parallel()
	b := open(t)
	token := task.LateSecret{Fetched: &task.FetchedSecret{Name: "token", Script: &task.Shell{Shell: "Bash", Script: "get ((1))"}}}
	b.cluster.Token = "((3))"
	b.pulls = map[string]task.LateSecret{"((3))": token, "((4))": {Pull: &task.PullSecret{Registry: "another"}}}
	b.deploy("nginx:1", task.Change{Target: target, Action: "applied", Instances: []task.Instance{{Name: "a"}}})
	w := b.ask(b.delegate("d", "prod"))
	if len(w.Watch) != 1 {
		t.Fatalf("the delegate is to watch %+v", w)
	}
	if diff := cmp.Diff(map[string]task.LateSecret{"((3))": token}, w.Watch[0].LateSecrets); diff != "" {
		t.Errorf("what is fetched (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"((1))": "open sesame"}, w.Watch[0].Secrets); diff != "" {
		t.Errorf("the secrets (-want +got):\n%s", diff)
	}
}
