package ledger_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// trial is a kind of task that nobody has heard of.
const trial task.Kind = "trial"

// task makes a task of a kind and an execution for it.
func (b *books) task(kind task.Kind, payload string) task.ID {
	b.Helper()
	b.tasks++
	b.now = b.now.Add(1)
	id := task.ID(fmt.Sprint("f", b.tasks))
	_, err := b.store.CreateExecution(b.Context(), store.Execution{
		ID: string(id), Scope: scope(), Pipeline: "deploy", PlanHash: "h", Status: plan.Running, Actor: "ann", StartedAt: b.now,
	}, []byte("{}"), audit.Record{Scope: scope()})
	b.must(err)
	_, err = b.store.CreateTask(b.Context(), store.Task{
		ID: id, Scope: scope(), Execution: string(id), Node: "step", Kind: kind, Payload: json.RawMessage(payload), CreatedAt: b.now,
		Secrets: map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"}), "((2))": "other"},
	})
	b.must(err)
	return id
}

// hall is the only placement that these tests make.
func (b *books) hall(target string) store.Placement {
	b.Helper()
	p, err := b.store.Placement(b.Context(), store.PlacementKey{Scope: scope(), Service: "web", Environment: "prod", Infrastructure: "hall", Target: target})
	b.must(err)
	return p
}

// What a kind of task changes is in the ledger, and delegates of that kind
// watch it, whatever it is: the ledger reads neither its place nor its spec.
// Of the task's secrets those of the place are given to who watches, beside
// their placeholders.
func TestWorkOfAnyKind(t *testing.T) {
	t.Parallel()
	b := open(t)
	find := func(version string, counted bool, names ...string) string {
		c := task.Change{Target: "trial:hall", Action: "found", Counted: counted}
		for _, n := range names {
			c.Instances = append(c.Instances, task.Instance{Name: n, Images: []string{version}, Properties: map[string]string{"zone": "a"}})
		}
		id := b.task(trial, `{"target":{"service":"web","environment":"prod","infrastructure":"hall","image":"`+version+`"},"stage":"stage","place":{"door":"((1))"},"spec":{"key":"((2))"}}`)
		b.must(b.Settle(t.Context(), id, task.Result{Status: task.Succeeded, Changes: []task.Change{c}}))
		p := b.hall("trial:hall")
		return fmt.Sprint(p.Deployed.Artifact, " ", ledger.Versions(p), " ", !p.Expires().IsZero())
	}
	same(b, "two instances", "1.4 map[1.4:2] false", find("1.4", true, "press", "lathe"))
	same(b, "one that is new", "1.5 map[1.5:1] false", find("1.5", true, "press"))
	same(b, "nothing was counted", "1.6 map[1.5:1] false", find("1.6", false))
	same(b, "none were counted", "1.6 map[] true", find("1.6", true))
	p := b.hall("trial:hall")
	same(b, "stage", "stage", p.Deployed.Stage)
	same(b, "how to look", store.Look{
		Kind: trial, Place: json.RawMessage(`{"door":"((1))"}`), Secrets: map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"})},
	}, p.Look)

	d := b.delegate("d")
	d.Kinds = append(d.Kinds, trial)
	if w := b.ask(b.delegate("of clusters")); len(w.Watch) > 0 {
		t.Errorf("a delegate of another kind is to watch %+v", w.Watch)
	}
	w := b.watched(d)
	same(b, "watch", task.Watch{
		ID: w.ID, Fence: w.Fence, Kind: trial, Place: json.RawMessage(`{"door":"((1))"}`), Secrets: map[string]string{"((1))": "open sesame"},
		Target: task.Target{Service: "web", Environment: "prod", Infrastructure: "hall", Image: "1.6"},
	}, w)
	seen := []task.Instance{{Name: "mill", Images: []string{"1.6"}, Properties: map[string]string{"zone": "b"}}}
	b.must(b.Observe(t.Context(), d, task.Observed{Watched: held(w), Instances: seen}))
	same(b, "what is seen", seen, b.hall("trial:hall").Seen.Instances)
}

// A change that nobody could find in the ledger is an error, not nothing.
func TestAChangeThatIsNoServicesIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t)
	for _, payload := range []string{`{"script":"echo"}`, `{"op":"K8sDelete","target":{"namespace":"shop"}}`} {
		err := b.Settle(t.Context(), b.task(trial, payload), task.Result{Changes: []task.Change{{Target: "trial:hall", Action: "applied"}}})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "has changed trial:hall, but is no service's") {
			t.Errorf("the change of a task with the payload %s: %v", payload, err)
		}
	}
}

// A task that was made before an update is settled after it, and its place is
// watched.
func TestTasksOfEarlierReleases(t *testing.T) {
	t.Parallel()
	const target = `"service":"web","environment":"prod","infrastructure":"hall","image":"web:1"`
	for kind, c := range map[task.Kind]struct{ payload, release, place string }{
		kubernetes.Kind: {
			`{"op":"K8sRollingDeploy","target":{"cluster":{"url":"https://k8s","token":"((1))"},"namespace":"shop","releaseName":"rel",` + target + `},"execution":"e","stage":"stage","step":"step"}`,
			"shop/rel", `{"cluster":{"url":"https://k8s","token":"((1))"}}`,
		},
		custom.Kind: {
			`{"target":{` + target + `},"stage":"stage","script":{"shell":"Bash","script":"list ((1))"},"list":"$","name":"name"}`,
			"/", `{"script":{"target":{` + target + `},"stage":"stage","script":{"shell":"Bash","script":"list ((1))"},"list":"$","name":"name"}}`,
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			b := open(t)
			id := b.task(kind, c.payload)
			b.must(b.Settle(t.Context(), id, task.Result{Changes: []task.Change{{Target: "x", Action: "applied", Instances: []task.Instance{{Name: "a"}}}}}))
			d := b.hall("x").Deployed
			same(b, "deployed", "web:1 stage "+c.release, fmt.Sprint(d.Artifact, " ", d.Stage, " ", d.Namespace, "/", d.Release))
			of := b.delegate("d")
			of.Kinds = []task.Kind{kind}
			w := b.watched(of)
			same(b, "place", c.place, string(w.Place))
			same(b, "secrets", map[string]string{"((1))": "open sesame"}, w.Secrets)
		})
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
