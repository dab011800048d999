package ledger_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/ledger"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/sqlite"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const target = "kubernetes:shop/web"

// books is a ledger over a store of its own, at a time that stands still.
type books struct {
	*ledger.Ledger
	*testing.T

	store store.Store
	keep  *secret.Keeper
	now   time.Time
	tasks int
	// cluster is where the tasks deploy to.
	cluster task.Cluster
	pulls   map[string]task.LateSecret // that the tasks have
	// identities are those that the tasks have.
	identities map[string]identity.Identity
}

func scope() ref.Scope { return ref.Scope{Account: "acme", Org: "default", Project: "shop"} }

func open(t *testing.T) *books {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // the test is over
	s, err := sqlite.New(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	b := &books{T: t, store: s.Store, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), cluster: task.Cluster{URL: "https://k8s", Token: "((1))"}}
	clock := func() time.Time { return b.now }
	master, err := secret.LoadKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	b.keep = secret.New(master, s, clock)
	b.Ledger = ledger.New(ledger.Config{Store: s.Store, Secret: b.keep, Now: clock})
	for kind, id := range map[ref.Kind]string{ref.Service: "web", ref.Environment: "prod"} {
		_, err := s.SaveEntity(t.Context(), store.Entity{Key: store.EntityKey{Scope: scope(), Kind: kind, ID: id}, YAML: []byte("x")}, audit.Record{Scope: scope()})
		b.must(err)
	}
	b.must(b.keep.Put(t.Context(), ref.Ref{Scope: scope(), ID: "token"}, "open sesame"))
	return b
}

func (b *books) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// deploy settles a task of a step that did these changes, and gives its id.
func (b *books) deploy(image string, changes ...task.Change) task.ID {
	b.Helper()
	b.tasks++
	b.now = b.now.Add(time.Minute)
	id := task.ID(fmt.Sprint("t", b.tasks))
	execution := fmt.Sprint("x", b.tasks)
	_, err := b.store.CreateExecution(b.Context(), store.Execution{
		ID: execution, Scope: scope(), Pipeline: "deploy", PlanHash: "h", Status: plan.Running, Actor: "ann", StartedAt: b.now,
	}, []byte("{}"), audit.Record{Scope: scope()})
	b.must(err)
	place, err := json.Marshal(kubernetes.Place{Cluster: b.cluster})
	b.must(err)
	payload, err := json.Marshal(task.Work{
		Stage: "stage", Place: place, Spec: json.RawMessage(`{"op":"K8sRollingDeploy","patch":"((2))"}`),
		Target: task.Target{Service: "web", Environment: "prod", Infrastructure: "cluster", Namespace: "shop", Release: "web", Image: image},
	})
	b.must(err)
	_, err = b.store.CreateTask(b.Context(), store.Task{
		ID: id, Scope: scope(), Execution: execution, Node: "step", Kind: kubernetes.Kind, Selectors: []string{"prod"}, Payload: payload,
		Secrets: map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"}), "((2))": "other"}, LateSecrets: b.pulls, Identities: b.identities, CreatedAt: b.now,
	})
	b.must(err)
	b.must(b.Settle(b.Context(), id, task.Result{Status: task.Succeeded, Changes: changes}))
	return id
}

func (b *books) placement() store.Placement {
	b.Helper()
	p, err := b.store.Placement(b.Context(), store.PlacementKey{Scope: scope(), Service: "web", Environment: "prod", Infrastructure: "cluster", Target: target})
	b.must(err)
	return p
}

// delegate is a connected delegate with the selector of the cluster.
func (b *books) delegate(id string, tags ...string) store.Delegate {
	b.Helper()
	d := store.Delegate{ID: id, Name: id, Scope: ref.Scope{Account: "acme"}, Kinds: []task.Kind{kubernetes.Kind}, Tags: tags, LastSeen: b.now}
	b.must(b.store.PutDelegate(b.Context(), d))
	return d
}

func (b *books) ask(d store.Delegate, held ...task.Watched) protocol.Watches {
	b.Helper()
	out, err := b.Watches(b.Context(), d, protocol.Watching{Held: held})
	b.must(err)
	return out
}

// watched asks for the one watch that there is to have.
func (b *books) watched(d store.Delegate) task.Watch {
	b.Helper()
	out := b.ask(d)
	if len(out.Watch) != 1 {
		b.Fatalf("%s was given %d watches, want 1", d.ID, len(out.Watch))
	}
	return out.Watch[0]
}

func held(w task.Watch) task.Watched { return task.Watched{ID: w.ID, Fence: w.Fence} }

func workload(name, image string, replicas int64) task.Workload {
	return task.Workload{Resource: "apps/Deployment/shop/" + name, Images: []string{image}, Replicas: &replicas}
}

func applied(image string, replicas int64) task.Change {
	w := workload("web", image, replicas)
	return task.Change{
		Target: target, Action: "applied", Whole: true, Revision: "1", Resources: []string{w.Resource}, Workloads: []task.Workload{w}, Instances: pods(int(replicas), image),
	}
}

func pods(n int, image string) []task.Instance {
	var out []task.Instance
	for i := range n {
		out = append(out, task.Instance{Name: fmt.Sprint("web-", i), Namespace: "shop", Images: []string{image, "proxy:9"}})
	}
	return out
}

// history is what the service's history says: cause and count, oldest first.
func (b *books) history() []string {
	b.Helper()
	list, _, err := b.store.ListMoments(b.Context(), scope(), "web", time.Time{}, store.Page{})
	b.must(err)
	var out []string
	for _, m := range slices.Backward(list) {
		out = append(out, fmt.Sprint(m.Cause, " ", m.Instances, " ", m.Versions))
	}
	return out
}

func same[T any](b *books, what string, want, got T) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestADeploymentIsWrittenDown(t *testing.T) {
	t.Parallel()
	b := open(t)
	id := b.deploy("web:1", applied("web:1", 2))
	p := b.placement()
	same(b, "deployed", store.Deployed{
		Artifact: "web:1", Release: "web", Namespace: "shop", Revision: "1", Action: "applied", Pipeline: "deploy", Execution: "x1", Stage: "stage", Node: "step",
		Actor: "ann", At: b.now, Task: id, TaskAt: b.now, Workloads: []task.Workload{workload("web", "web:1", 2)},
	}, p.Deployed)
	same(b, "how to look", store.Look{
		Kind: kubernetes.Kind, Selectors: []string{"prod"}, Secrets: map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"})},
		Place: json.RawMessage(`{"cluster":{"url":"https://k8s","token":"((1))"}}`),
	}, p.Look)
	same(b, "instances", pods(2, "web:1"), p.Seen.Instances)
	b.must(b.Settle(b.Context(), id, task.Result{Changes: []task.Change{applied("web:1", 2)}}))
	same(b, "version after the same result again", p.Version, b.placement().Version)
	b.deploy("web:2", applied("web:2", 3))
	b.must(b.Settle(b.Context(), id, task.Result{Changes: []task.Change{applied("web:1", 2)}}))
	same(b, "artifact after an old result again", "web:2", b.placement().Deployed.Artifact)
	same(b, "history", []string{"applied 2 map[web:1:2]", "applied 3 map[web:2:3]"}, b.history())
}

// A cluster of a cloud has its secrets in the cloud's account.
func TestALookHasTheSecretsOfACloud(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.cluster = task.Cluster{Cloud: &task.CloudCluster{EKS: &task.EKS{Name: "main", AWS: task.AWS{Auth: task.AWSKeys, AccessKey: "id", SecretKey: "((1))"}}}}
	b.deploy("web:1", applied("web:1", 2))
	same(b, "secrets", map[string]string{"((1))": secret.Name(ref.Ref{Scope: scope(), ID: "token"})}, b.placement().Look.Secrets)
}

func TestARollbackBringsTheArtifactBack(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	failed := applied("web:2", 2)
	failed.Instances = nil
	b.deploy("web:2", failed)
	same(b, "instances of a step that failed", pods(2, "web:1"), b.placement().Seen.Instances)
	back := applied("web:1", 2)
	back.Action = "rolled back"
	b.deploy("web:2", back) // the step still has the artifact that it takes back
	same(b, "artifact", "web:1", b.placement().Deployed.Artifact)
	same(b, "history", []string{"applied 2 map[web:1:2]", "applied 2 map[web:1:2]", "rolled back 2 map[web:1:2]"}, b.history())
}

func TestWorkloadsFollowTheSteps(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	canary := workload("web-canary", "web:2", 1)
	names := func() []string {
		var out []string
		for _, w := range b.placement().Deployed.Workloads {
			out = append(out, fmt.Sprint(w.Resource, " ", *w.Replicas))
		}
		return out
	}
	b.deploy("web:2", task.Change{Target: target, Action: "applied", Resources: []string{canary.Resource}, Workloads: []task.Workload{canary}})
	same(b, "with a canary", []string{"apps/Deployment/shop/web 2", "apps/Deployment/shop/web-canary 1"}, names())
	b.deploy("web:2", task.Change{Target: target, Action: "deleted", Resources: []string{canary.Resource}, Workloads: []task.Workload{canary}})
	same(b, "without it", []string{"apps/Deployment/shop/web 2"}, names())
	bare := task.Workload{Resource: "apps/Deployment/shop/web"}
	b.deploy("web:1", task.Change{Target: target, Action: "scaled", Resources: []string{bare.Resource}, Workloads: []task.Workload{bare}})
	w := b.watched(b.delegate("d1", "prod"))
	b.must(b.Observe(b.Context(), b.delegate("d1", "prod"), task.Observed{Watched: held(w), Instances: pods(5, "web:1"), Workloads: []task.Workload{workload("web", "web:1", 5)}}))
	same(b, "scaled by a step", []string{"apps/Deployment/shop/web 5"}, names())
	same(b, "drift", nil, ledger.Drift(b.placement()))
}

func TestDrift(t *testing.T) {
	t.Parallel()
	b := open(t)
	change := applied("web:1", 2)
	change.Workloads[0].State = "CREATE_COMPLETE, first"
	b.deploy("web:1", change)
	left := func(state string) task.Workload {
		w := workload("web", "web:1", 2)
		w.State = state
		return w
	}
	same(b, "before anybody has looked", nil, ledger.Drift(b.placement()))
	d := b.delegate("d1", "prod")
	w := b.watched(d)
	live := workload("web", "web:9", 7)
	live.ReplicasBy = "kubectl"
	auto := workload("web", "web:1", 9)
	auto.Replicas = nil // who watches says so
	for _, c := range []struct {
		name string
		live task.Workload
		want []string
	}{
		{"as it was deployed", workload("web", "web:1", 2), nil},
		{"scaled and set by hand", live, []string{"Deployment/web has 7 replicas, set by kubectl; deployed were 2", "Deployment/web has the images web:9; deployed were web:1"}},
		{"scaled by an autoscaler", auto, nil},
		{"that changes", left(""), nil},
		{"changed by hand", left("UPDATE_COMPLETE, later"), []string{"Deployment/web is UPDATE_COMPLETE, later; deployed was CREATE_COMPLETE, first"}},
		{"deleted by hand", task.Workload{Resource: live.Resource, Gone: true}, []string{"Deployment/web isn't there any more"}},
	} {
		b.must(b.Observe(b.Context(), d, task.Observed{Watched: held(w), Workloads: []task.Workload{c.live}}))
		same(b, c.name, c.want, ledger.Drift(b.placement()))
	}
}

func TestAWatchBelongsToOneConnectedDelegate(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	same(b, "of a delegate without the selector", protocol.Watches{}, b.ask(b.delegate("other")))
	d1 := b.delegate("d1", "prod")
	w := b.watched(d1)
	same(b, "watch", task.Watch{
		ID: w.ID, Fence: 2, Kind: kubernetes.Kind, Workloads: []task.Workload{{Resource: "apps/Deployment/shop/web"}}, Secrets: map[string]string{"((1))": "open sesame"},
		Target: task.Target{Service: "web", Environment: "prod", Infrastructure: "cluster", Release: "web", Namespace: "shop", Image: "web:1"},
		Place:  json.RawMessage(`{"cluster":{"url":"https://k8s","token":"((1))"}}`),
	}, w)
	same(b, "asked again by its holder", protocol.Watches{}, b.ask(d1, held(w)))
	same(b, "asked again by a holder that lost it", held(w), held(b.watched(d1)))
	d2 := b.delegate("d2", "prod")
	same(b, "asked by another", protocol.Watches{}, b.ask(d2))

	b.now = b.now.Add(time.Hour) // d1 was never heard of again
	d2 = b.delegate("d2", "prod")
	taken := b.watched(d2)
	same(b, "fence of the one that takes it over", w.Fence+1, taken.Fence)
	err := b.Observe(b.Context(), d1, task.Observed{Watched: held(w), Instances: pods(9, "web:1")})
	if !fault.Is(err, fault.LeaseLost) {
		t.Errorf("the report of a delegate that lost its watch: %v", err)
	}
	same(b, "instances", 2, len(b.placement().Seen.Instances))
	same(b, "what the loser is told", protocol.Watches{Drop: []string{w.ID}}, b.ask(d1, held(w)))

	b.deploy("web:2", applied("web:2", 2)) // the same delegate gets what to look at anew
	same(b, "fence after a deployment", taken.Fence+1, b.ask(b.delegate("d2", "prod"), held(taken)).Watch[0].Fence)
	foreign := b.delegate("d3", "prod")
	foreign.Scope = ref.Scope{Account: "acme", Org: "elsewhere"}
	same(b, "asked from another scope", protocol.Watches{}, b.ask(foreign))
	if err := b.Observe(b.Context(), foreign, task.Observed{Watched: held(taken)}); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a report from another scope: %v", err)
	}
}

func TestReports(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	d := b.delegate("d1", "prod")
	w := held(b.watched(d))
	report := func(o task.Observed) {
		t.Helper()
		b.now = b.now.Add(time.Minute)
		o.Watched = w
		b.must(b.Observe(b.Context(), d, o))
	}
	report(task.Observed{Instances: pods(3, "web:1")})
	report(task.Observed{Instances: pods(3, "web:1")})
	seen := b.now
	report(task.Observed{Trouble: "the cluster can't be reached"})
	p := b.placement()
	same(b, "the last that is known stays", 3, len(p.Seen.Instances))
	same(b, "when it was seen", seen, p.Seen.At)
	same(b, "trouble", "the cluster can't be reached", p.Seen.Trouble)
	report(task.Observed{})
	same(b, "empty since", b.now, b.placement().Seen.EmptySince)
	report(task.Observed{Instances: pods(1, "web:1")})
	same(b, "not empty", time.Time{}, b.placement().Seen.EmptySince)
	same(b, "history", []string{
		"applied 2 map[web:1:2]", "observed 3 map[web:1:3]", "observed 0 map[]", "observed 1 map[web:1:1]",
	}, b.history())
}

func TestAPlacementIsForgotten(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*books){
		"two weeks after its last instance": func(b *books) { b.now = b.now.Add(store.PlacementsKept + time.Minute) },
		"with its service": func(b *books) {
			b.must(b.store.DeleteEntity(b.Context(), store.EntityKey{Scope: scope(), Kind: ref.Service, ID: "web"}, 1, audit.Record{Scope: scope()}))
		},
		"with its environment": func(b *books) {
			b.must(b.store.DeleteEntity(b.Context(), store.EntityKey{Scope: scope(), Kind: ref.Environment, ID: "prod"}, 1, audit.Record{Scope: scope()}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			b.deploy("web:1", applied("web:1", 2))
			d := b.delegate("d1", "prod")
			w := held(b.watched(d))
			b.must(b.Observe(b.Context(), d, task.Observed{Watched: w}))
			end(b)
			if err := b.Observe(b.Context(), d, task.Observed{Watched: w}); !fault.Is(err, fault.LeaseLost) {
				t.Errorf("the next report: %v", err)
			}
			list, _, err := b.store.ListPlacements(b.Context(), scope(), "", "", store.Page{})
			b.must(err)
			same(b, "placements", nil, list)
		})
	}
}

func TestASecretThatIsGoneIsTold(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	key := store.EntityKey{Scope: scope(), Kind: ref.Secret, ID: "token"}
	saved, err := b.store.SaveEntity(b.Context(), store.Entity{Key: key}, audit.Record{Scope: scope()})
	b.must(err)
	b.must(b.store.DeleteEntity(b.Context(), key, saved.Version, audit.Record{Scope: scope()}))
	same(b, "watches", protocol.Watches{}, b.ask(b.delegate("d1", "prod")))
	if b.placement().Seen.Trouble == "" {
		t.Error("nothing says why nobody watches")
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		images         []string
		artifact, want string
	}{
		{[]string{"proxy:1", "reg:5000/web:2"}, "reg:5000/web:1", "reg:5000/web:2"},
		{[]string{"proxy:1", "web@sha256:abc"}, "web:1", "web@sha256:abc"},
		{[]string{"proxy:1", "web:2"}, "", "proxy:1"},
		{[]string{"proxy:1"}, "web:1", "proxy:1"},
		{nil, "web:1", ""},
	} {
		if got := ledger.Version(task.Instance{Images: c.images}, c.artifact); got != c.want {
			t.Errorf("the version of %q of %s is %q, want %q", c.images, c.artifact, got, c.want)
		}
	}
}

// A chart's step tells of all of its objects, and of an uninstalled release
// there are none.
func TestAReleaseThatIsUninstalledHasNoWorkloads(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.deploy("web:1", applied("web:1", 2))
	b.deploy("web:1", task.Change{Target: target, Action: "deleted", Whole: true})
	same(b, "workloads", nil, b.placement().Deployed.Workloads)
}
