package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/applying/applyingtest"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gitops/render"
	"github.com/slipway-cd/slipway/delegate/gitops/source"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/internal/gitserver/gittest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
)

func TestMain(m *testing.M) {
	sandbox.Answer(render.Verbs())
	os.Exit(m.Run())
}

// patience is how long a test waits for anything. Nothing takes it but a failure.
const patience = 5 * time.Minute

// world is a namespace of a real cluster with an agent of its own, and a
// repository.
type world struct {
	testing.TB

	cluster   *applying.Cluster
	namespace string
	git       *gittest.Repository
	cache     string
	docs      Documents

	*Reconciler

	stop func()

	mu     sync.Mutex
	status map[Key]gitops.ApplicationStatus
	moved  chan struct{} // closed, and made anew, at each report
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	c, _, namespace := applyingtest.Connect(tb)
	return &world{TB: tb, cluster: c, namespace: namespace, git: gittest.New(tb), cache: tb.TempDir(), status: map[Key]gitops.ApplicationStatus{}, moved: make(chan struct{})}
}

// start runs an agent, as a process that begins does.
func (w *world) start() {
	w.Helper()
	sources := source.New(gitfetch.New(w.cache+"/git", gitfetch.HostKeys{}), chart.NewRepos(w.cache+"/charts"), w.cache+"/sources")
	r, err := New(w.Context(), Config{
		Agent: w.namespace, Home: w.cluster, Namespace: w.namespace, Sources: sources,
		Renderer: render.New(sources, sandbox.New(1<<30), w.cache+"/render"),
		Log:      slog.New(slog.NewTextHandler(w.Output(), nil)),
		Report: func(k Key, s *View) {
			w.mu.Lock()
			defer w.mu.Unlock()
			if s == nil {
				delete(w.status, k)
			} else {
				w.status[k] = s.ApplicationStatus
			}
			close(w.moved)
			w.moved = make(chan struct{})
		},
	})
	if err != nil {
		w.Fatal(err)
	}
	w.Reconciler = r
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := r.Run(ctx); ctx.Err() == nil {
			w.Errorf("the agent ended: %v", err)
		}
	}()
	w.stop = sync.OnceFunc(func() { cancel(); <-done })
	w.Cleanup(w.stop)
	w.SetDocuments(w.docs)
}

// save has the agent go by a document.
func (w *world) save(apps ...gitops.Application) {
	w.docs.Applications = apps
	if w.Reconciler != nil {
		w.SetDocuments(w.docs)
	}
}

// app is an application of the repository's folder app.
func (w *world) app(name string, change ...func(*gitops.ApplicationSpec)) gitops.Application {
	a := gitops.Application{Meta: gitops.Meta{Name: name}, Spec: gitops.ApplicationSpec{
		Destination: gitops.Destination{Server: InClusterServer, Namespace: w.namespace},
		Source:      &gitops.Source{RepoURL: w.git.URL, Path: name},
	}}
	for _, c := range change {
		c(&a.Spec)
	}
	return a
}

func automated(s *gitops.ApplicationSpec) {
	s.SyncPolicy = &gitops.SyncPolicy{Automated: &gitops.Automated{Prune: true, SelfHeal: true}}
}

// until waits until an application is as somebody wants it.
func (w *world) until(name, what string, is func(gitops.ApplicationStatus) bool) gitops.ApplicationStatus {
	w.Helper()
	over := time.After(patience)
	for {
		w.mu.Lock()
		s, moved := w.status[Key{Name: name}], w.moved
		w.mu.Unlock()
		if is(s) {
			return s
		}
		select {
		case <-moved:
		case <-over:
			w.Fatalf("application %s isn't %s within %s; it is %s", name, what, patience, show(s))
		}
	}
}

func show(s gitops.ApplicationStatus) string {
	out := fmt.Sprintf("%s %s %s", s.Sync.Status, s.Sync.Revision, s.Health.Status)
	if o := s.OperationState; o != nil {
		out += fmt.Sprintf(", %s: %s", o.Phase, o.Message)
	}
	for _, c := range s.Conditions {
		out += fmt.Sprintf("\n%s: %s", c.Type, c.Message)
	}
	for _, r := range s.Resources {
		out += fmt.Sprintf("\n%s %s", r.Key, r.Status)
	}
	return out
}

func (w *world) synced(name, revision string) gitops.ApplicationStatus {
	w.Helper()
	return w.until(name, "synced to "+revision, func(s gitops.ApplicationStatus) bool {
		return s.Sync.Status == gitops.Synced && s.Sync.Revision == revision && (s.OperationState == nil || s.OperationState.Phase.Ended())
	})
}

func (w *world) configMap(name string) *unstructured.Unstructured {
	return applying.Named(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, object.Key{Kind: "ConfigMap", Namespace: w.namespace, Name: name})
}

// data is what a ConfigMap holds under key; "" if it isn't there.
func (w *world) data(name, key string) string {
	w.Helper()
	o, err := w.cluster.Get(w.Context(), w.configMap(name))
	if err != nil {
		w.Fatal(err)
	}
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", key)
	return text
}

// edit is what somebody else does to a ConfigMap.
func (w *world) edit(name, patch string) {
	w.Helper()
	if _, err := w.cluster.Patch(w.Context(), w.configMap(name), types.MergePatchType, []byte(patch), "kubectl-edit"); err != nil {
		w.Fatal(err)
	}
}

func configMap(name, value string, more ...string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s}}\ndata: {a: %s}\n", name, strings.Join(more, ", "), value)
}

// TestAnApplicationFollowsItsRepository: it is synced, changed, pruned and healed,
// and another process goes on with it.
func TestAnApplicationFollowsItsRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one"), "web/b.yaml": configMap("b", "one")})
	w.save(w.app("web", automated))
	w.start()
	s := w.synced("web", first)
	if w.data("a", "a") != "one" || w.data("b", "a") != "one" || s.Health.Status != gitops.Healthy || len(s.History) != 1 {
		t.Fatalf("a is %q, b is %q; the application is %s with %d entries of history", w.data("a", "a"), w.data("b", "a"), show(s), len(s.History))
	}

	second := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "two"), "web/b.yaml": ""})
	if err := w.Refresh(Key{Name: "web"}, false); err != nil {
		t.Fatal(err)
	}
	w.synced("web", second)
	if w.data("a", "a") != "two" || w.data("b", "a") != "" {
		t.Fatalf("a is %q, b is %q; want it changed, and b gone", w.data("a", "a"), w.data("b", "a"))
	}

	w.edit("a", `{"data":{"a":"three"}}`)
	w.until("web", "healed", func(s gitops.ApplicationStatus) bool {
		return s.Sync.Status == gitops.Synced && w.data("a", "a") == "two"
	})

	w.stop()
	w.edit("a", `{"data":{"a":"three"}}`)
	third := w.git.Commit(map[string]string{"web/c.yaml": configMap("c", "three")})
	w.start()
	s = w.synced("web", third)
	if w.data("a", "a") != "two" || w.data("c", "a") != "three" || len(s.History) != 3 {
		t.Fatalf("a is %q, c is %q, %d entries of history; want two, three, 3", w.data("a", "a"), w.data("c", "a"), len(s.History))
	}
}

// job is a hook whose pod does what its behaviour says: ends well, unless it is told
// otherwise.
func job(name, behaviour string, notes ...string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: Job
metadata: {name: %s, annotations: {%s}}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {slipway.test/behaviour: %s}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "nginx:1"}]
`, name, strings.Join(notes, ", "), behaviour)
}

func (w *world) ended(name string, phase gitops.OperationPhase) gitops.ApplicationStatus {
	w.Helper()
	s := w.until(name, "at the end of its operation", func(s gitops.ApplicationStatus) bool {
		return s.OperationState != nil && s.OperationState.Phase.Ended()
	})
	if s.OperationState.Phase != phase {
		w.Errorf("the operation ended %s: %s; want %s", s.OperationState.Phase, s.OperationState.Message, phase)
	}
	return s
}

const (
	hookNote   = `argocd.argoproj.io/hook: %s`
	waveNote   = `argocd.argoproj.io/sync-wave: "%d"`
	policyNote = `argocd.argoproj.io/hook-delete-policy: %s`
)

func (w *world) job(name string) *unstructured.Unstructured {
	w.Helper()
	o, err := w.cluster.Get(w.Context(), applying.Named(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, object.Key{Namespace: w.namespace, Name: name}))
	if err != nil {
		w.Fatal(err)
	}
	return o
}

// TestWavesAndHooks: real Jobs end before what follows, and are deleted as their
// policies say; nothing keeps a finalizer of ours.
func TestWavesAndHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	commit := w.git.Commit(map[string]string{
		"web/before.yaml": job("before", "none", fmt.Sprintf(hookNote, "PreSync")),
		"web/a.yaml":      configMap("a", "one", fmt.Sprintf(waveNote, -1)),
		"web/z.yaml":      configMap("z", "one", fmt.Sprintf(waveNote, 3)),
		"web/deployment.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: web}}\n  template:\n" +
			"    metadata: {labels: {app: web}}\n    spec: {containers: [{name: main, image: \"nginx:1\"}]}\n",
		"web/after.yaml": job("after", "none", fmt.Sprintf(hookNote, "PostSync"), fmt.Sprintf(policyNote, "HookSucceeded")),
		"web/never.yaml": job("never", "none", fmt.Sprintf(hookNote, "SyncFail")),
	})
	w.save(w.app("web", automated))
	w.start()
	s := w.synced("web", commit)
	if s.OperationState.Phase != gitops.OperationSucceeded {
		t.Fatalf("the operation is %s", show(s))
	}
	var order []string
	for _, r := range s.OperationState.SyncResult.Resources {
		order = append(order, r.Name)
	}
	if got := strings.Join(order, " "); got != "before a web z after" {
		t.Errorf("the results are of %s; want before a web z after", got)
	}
	if o := w.job("before"); o == nil || slices.Contains(o.GetFinalizers(), object.FinalizerHook) {
		t.Errorf("the hook before is %v; want it to stay, without our finalizer", o)
	}
	if o := w.job("after"); o != nil && o.GetDeletionTimestamp() == nil {
		t.Error("the hook after stays; want it deleted as it succeeded")
	}
	if w.job("never") != nil {
		t.Error("the hook for failures ran")
	}
}

// TestAHookThatFails: nothing after it is applied, and hooks for failures run. No
// more automated tries are made of the same, and a better commit is synced.
func TestAHookThatFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bad := w.git.Commit(map[string]string{
		"web/before.yaml": job("before", "crashloop", fmt.Sprintf(hookNote, "PreSync")), "web/a.yaml": configMap("a", "one"),
		"web/undo.yaml": job("undo", "none", fmt.Sprintf(hookNote, "SyncFail")),
	})
	w.save(w.app("web", automated, func(s *gitops.ApplicationSpec) { s.SyncPolicy.Retry = &gitops.Retry{} }))
	w.start()
	s := w.until("web", "given up", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool {
			return c.Type == gitops.ConditionSyncError && strings.Contains(c.Message, bad)
		})
	})
	if s.Sync.Status != gitops.OutOfSync || w.data("a", "a") != "" || w.job("undo") == nil {
		t.Errorf("the application is %s, a is %q; want it out of sync, a not applied, and the hook for failures to have run", show(s), w.data("a", "a"))
	}
	good := w.git.Commit(map[string]string{"web/before.yaml": job("before", "none", fmt.Sprintf(hookNote, "PreSync"))})
	if err := w.Refresh(Key{Name: "web"}, false); err != nil {
		t.Fatal(err)
	}
	w.synced("web", good)
}

// TestTerminate: a hook that hangs is deleted, and the next operation may begin; so
// may it where the next try is waited for.
func TestTerminate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{"web/before.yaml": job("before", "never-ready", fmt.Sprintf(hookNote, "PreSync")), "web/a.yaml": configMap("a", "one")})
	w.save(w.app("web"))
	w.start()
	k := Key{Name: "web"}
	if err := w.Sync(k, "r1", gitops.Operation{Retry: gitops.Retry{Limit: 3}}); err != nil {
		t.Fatal(err)
	}
	w.until("web", "waiting for its hook", func(s gitops.ApplicationStatus) bool {
		return s.OperationState != nil && strings.Contains(s.OperationState.Message, "until the hook Job")
	})
	if err := w.Sync(k, "r2", gitops.Operation{}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a second sync gave %v; want a conflict", err)
	}
	if err := w.Sync(k, "r1", gitops.Operation{}); err != nil {
		t.Errorf("the request that began it gave %v when it came again", err)
	}
	if err := w.Terminate(k); err != nil {
		t.Fatal(err)
	}
	if s := w.ended("web", gitops.OperationFailed); s.OperationState.Message != "Operation terminated" || w.data("a", "a") != "" {
		t.Errorf("the operation says %q, and a is %q", s.OperationState.Message, w.data("a", "a"))
	}
	if o := w.job("before"); o != nil && o.GetDeletionTimestamp() == nil {
		t.Error("the hook goes on")
	}
	w.git.Commit(map[string]string{"web/before.yaml": "", "web/b.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 99999}]}\n"})
	if err := w.Refresh(k, false); err != nil {
		t.Fatal(err)
	}
	w.until("web", "compared", func(s gitops.ApplicationStatus) bool { return len(s.Resources) == 2 })
	if err := w.Sync(k, "r3", gitops.Operation{Retry: gitops.Retry{Limit: 3, Backoff: &gitops.Backoff{Duration: "1h", MaxDuration: "1h"}}}); err != nil {
		t.Fatal(err)
	}
	w.until("web", "waiting for its next try", func(s gitops.ApplicationStatus) bool { return s.OperationState.RetryCount == 1 })
	if err := w.Terminate(k); err != nil {
		t.Fatal(err)
	}
	w.ended("web", gitops.OperationFailed)
}

// TestNothingIsChangedIfAnythingIsRefused: the dry run comes before everything.
func TestNothingIsChangedIfAnythingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{
		"web/a.yaml": configMap("a", "one"),
		"web/b.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: b}\nspec: {ports: [{port: 99999}]}\n",
	})
	w.save(w.app("web"))
	w.start()
	w.until("web", "compared", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.OutOfSync })
	if err := w.Sync(Key{Name: "web"}, "r1", gitops.Operation{}); err != nil {
		t.Fatal(err)
	}
	s := w.ended("web", gitops.OperationFailed)
	if !strings.Contains(s.OperationState.Message, "dry run") || !strings.Contains(s.OperationState.Message, "99999") || w.data("a", "a") != "" {
		t.Errorf("the operation says %q, and a is %q; want the server's words, and nothing changed", s.OperationState.Message, w.data("a", "a"))
	}
}

// TestWhatIsAskedFor: without a policy nothing is done by itself; requests choose
// objects, try only, and wait for each other.
func TestWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one"), "web/b.yaml": strings.Replace(configMap("b", "one"), "metadata: {", "metadata: {labels: {part: b}, ", 1), "web/hook.yaml": job("hook", "none", fmt.Sprintf(hookNote, "PreSync")), "web/cron.yaml": cron("web:1")})
	w.save(w.app("web"))
	w.start()
	k := Key{Name: "web"}
	s := w.until("web", "compared", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.OutOfSync })
	if s.Health.Status != gitops.Missing || s.OperationState != nil {
		t.Errorf("the application is %s; want it missing, and nothing done", show(s))
	}
	sync := func(id string, r gitops.SyncRequest) gitops.ApplicationStatus {
		t.Helper()
		if err := w.Sync(k, id, gitops.Operation{Sync: &r, InitiatedBy: gitops.Initiator{Username: id}}); err != nil {
			t.Fatal(err)
		}
		return w.until("web", "done with "+id, func(s gitops.ApplicationStatus) bool {
			return s.OperationState != nil && s.OperationState.Phase.Ended() && s.OperationState.Operation.InitiatedBy.Username == id
		})
	}
	if s = sync("try", gitops.SyncRequest{DryRun: true}); s.OperationState.Phase != gitops.OperationSucceeded || w.data("a", "a") != "" || len(s.History) > 0 {
		t.Errorf("a dry run came to %s, and a is %q", show(s), w.data("a", "a"))
	}
	if s = sync("one", gitops.SyncRequest{Resources: []object.Key{{Kind: "ConfigMap", Namespace: w.namespace, Name: "b"}}}); w.data("a", "a") != "" || w.data("b", "a") != "one" || w.job("hook") != nil || len(s.History) > 0 {
		t.Errorf("a sync of b came to %s; a is %q, b is %q", show(s), w.data("a", "a"), w.data("b", "a"))
	}
	if s = sync("none", gitops.SyncRequest{Filter: &gitops.ObjectFilter{Key: object.Key{Kind: "Secret"}}}); s.OperationState.Phase != gitops.OperationError || !strings.Contains(s.OperationState.Message, "no object of the application is one of the resourcesFilter") {
		t.Errorf("a filter that takes nothing came to %s", show(s))
	}
	w.edit("b", `{"data":{"a":"theirs"}}`)
	if s = sync("some", gitops.SyncRequest{Filter: &gitops.ObjectFilter{Key: object.Key{Kind: "ConfigMap"}, Label: "part=b"}}); w.data("a", "a") != "" || w.data("b", "a") != "one" || len(s.History) > 0 {
		t.Errorf("a sync of what has a label came to %s; a is %q, b is %q", show(s), w.data("a", "a"), w.data("b", "a"))
	}
	sync("all", gitops.SyncRequest{})
	s = w.synced("web", first)
	if got := s.Summary; !slices.Equal(got.Images, []string{"web:1"}) || !slices.Equal(got.ExternalURLs, []string{"https://web.example.com/jobs"}) {
		t.Errorf("it shows %+v; want web:1 and its link", got)
	}
	w.git.Commit(map[string]string{"web/b.yaml": "", "web/cron.yaml": cron("web:2")})
	if err := w.Refresh(k, false); err != nil {
		t.Fatal(err)
	}
	s = w.until("web", "to be pruned", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Resources, func(r gitops.ResourceStatus) bool { return r.RequiresPruning })
	})
	if !slices.Equal(s.Summary.Images, []string{"web:1"}) {
		t.Errorf("before the sync it shows %v; want what runs", s.Summary.Images)
	}
	if s = sync("kept", gitops.SyncRequest{}); w.data("b", "a") != "one" || s.Sync.Status != gitops.OutOfSync {
		t.Errorf("without pruning the sync came to %s, and b is %q", show(s), w.data("b", "a"))
	}
	sync("pruned", gitops.SyncRequest{Prune: true})
	w.until("web", "pruned", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
	if w.data("b", "a") != "" {
		t.Error("b is still there")
	}
	if err := w.Sync(Key{Name: "other"}, "", gitops.Operation{}); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a sync of nothing gave %v", err)
	}
}

// cron is a CronJob that runs nothing.
func cron(image string) string {
	return fmt.Sprintf(`apiVersion: batch/v1
kind: CronJob
metadata: {name: cron, annotations: {link.argocd.argoproj.io/external-link: "Jobs | https://web.example.com/jobs", link.argocd.argoproj.io/other: "javascript:alert(1)"}}
spec:
  suspend: true
  schedule: "0 0 1 1 *"
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "%s"}]}}}}
`, image)
}

// TestAWipeIsntAutomatic: a repository whose files are gone deletes nothing by
// itself, unless it may.
func TestAWipeIsntAutomatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one"), "web/README.md": "web"})
	w.save(w.app("web", automated))
	w.start()
	w.synced("web", first)
	w.git.Commit(map[string]string{"web/a.yaml": ""})
	if err := w.Refresh(Key{Name: "web"}, false); err != nil {
		t.Fatal(err)
	}
	w.until("web", "warned", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool { return strings.Contains(c.Message, "allowEmpty") })
	})
	if w.data("a", "a") != "one" {
		t.Fatal("a is gone")
	}
	w.save(w.app("web", automated, func(s *gitops.ApplicationSpec) { s.SyncPolicy.Automated.AllowEmpty = true }))
	w.until("web", "empty", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced && len(s.Resources) == 0 })
	if w.data("a", "a") != "" {
		t.Error("a is still there")
	}
}

// TestARollbackHolds: what was live before is live again, and is healed, until
// something else is rendered.
func TestARollbackHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := Key{Name: "web"}
	commit := func(files map[string]string) string {
		c := w.git.Commit(files)
		if w.Reconciler != nil {
			if err := w.Refresh(k, false); err != nil {
				t.Fatal(err)
			}
		}
		return c
	}
	first := commit(map[string]string{"web/a.yaml": configMap("a", "one")})
	w.save(w.app("web", automated))
	w.start()
	w.synced("web", first)
	w.synced("web", commit(map[string]string{"web/a.yaml": configMap("a", "two")}))
	if err := w.Rollback(k, "r", Rollback{By: "ana"}); err != nil {
		t.Fatal(err)
	}
	held := func(s gitops.ApplicationStatus) bool {
		return s.Sync.Status == gitops.Synced && s.Sync.Revision == first && w.data("a", "a") == "one" &&
			slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool {
				return c.Type == gitops.ConditionHeld && strings.Contains(c.Message, "ana")
			})
	}
	w.until("web", "held", held)
	w.edit("a", `{"data":{"a":"three"}}`)
	w.until("web", "healed while it is held", held)
	commit(map[string]string{"other/b.yaml": configMap("b", "one")})
	w.stop()
	w.start() // the hold is kept
	w.until("web", "held", held)
	fixed := commit(map[string]string{"web/a.yaml": configMap("a", "four")})
	w.synced("web", fixed)
	if w.data("a", "a") != "four" {
		t.Errorf("a is %q; want four: the hold is over", w.data("a", "a"))
	}
}

// TestACommitToAnotherFolder: the revision moves, and nothing is done.
func TestACommitToAnotherFolder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one")})
	w.save(w.app("web", automated))
	w.start()
	before := w.synced("web", first)
	second := w.git.Commit(map[string]string{"other/a.yaml": configMap("a", "two")})
	if err := w.Refresh(Key{Name: "web"}, false); err != nil {
		t.Fatal(err)
	}
	after := w.synced("web", second)
	if len(after.History) != 1 || after.OperationState.StartedAt != before.OperationState.StartedAt {
		t.Errorf("the application is %s; want nothing to have been done", show(after))
	}
}

// TestDeletion: the document alone goes, or the objects with it.
func TestDeletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{
		"web/a.yaml": configMap("a", "one"), "web/b.yaml": configMap("b", "one", fmt.Sprintf(waveNote, 2)),
		"web/c.yaml": configMap("c", "one", `argocd.argoproj.io/sync-options: Delete=false`),
	})
	w.save(w.app("web", automated))
	w.start()
	w.until("web", "synced", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
	w.save()
	w.until("web", "gone", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == "" })
	if w.data("a", "a") != "one" {
		t.Fatal("a has gone with the document")
	}
	w.stop()
	w.start()
	w.gone("web", Deletion{Cascade: true})()
	if w.data("a", "a") != "" || w.data("b", "a") != "" || w.data("c", "a") != "one" {
		t.Errorf("a is %q, b is %q, c is %q; want c alone", w.data("a", "a"), w.data("b", "a"), w.data("c", "a"))
	}
}

// gone asks for a deletion, and gives what waits for its end.
func (w *world) gone(name string, d Deletion) (wait func()) {
	w.Helper()
	done := make(chan error, 1)
	d.Done = func(err error) { done <- err }
	if err := w.Delete(Key{Name: name}, d); err != nil {
		w.Fatal(err)
	}
	return func() {
		w.Helper()
		select {
		case err := <-done:
			if err != nil {
				w.Errorf("the deletion gave %v", err)
			}
		case <-time.After(patience):
			w.Fatal("the deletion doesn't end")
		}
	}
}

// TestADeletionIsNeverLost: it may come before the document goes, while the application
// is being forgotten, and with what comes back.
func TestADeletionIsNeverLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one")})
	web := w.app("web", automated)
	w.save(web)
	w.start()
	for i := range 20 {
		w.until("web", "synced", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
		wait := func() {}
		ask := func() { wait = w.gone("web", Deletion{Request: fmt.Sprint(i), Cascade: true}) }
		if i%2 == 0 {
			ask()
			if w.data("a", "a") != "one" {
				t.Fatal("a has gone before the document")
			}
		}
		w.save()
		if i%4 == 1 {
			w.until("web", "gone", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == "" })
		}
		if i%2 == 1 {
			ask()
		}
		wait()
		if w.data("a", "a") != "" {
			t.Fatalf("round %d: a is still there", i)
		}
		w.save(web)
	}
	w.until("web", "synced", func(s gitops.ApplicationStatus) bool { return s.Sync.Status == gitops.Synced })
	w.save()
	w.save(web)
	w.edit("a", `{"data":{"a":"two"}}`)
	over := time.After(patience)
	for w.data("a", "a") != "one" {
		select {
		case <-time.After(debounce):
		case <-over:
			t.Fatal("what came back isn't followed")
		}
	}
}

// TestWhatCantBeginSaysWhy: it isn't lost, and it isn't begun later.
func TestWhatCantBeginSaysWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one")})
	away := fault.New(fault.Unavailable, "nobody is at home")
	w.docs.Clusters = []Cluster{{Name: "away", Server: "https://away.example.com", Problem: away}}
	web := w.app("web", func(s *gitops.ApplicationSpec) {
		s.Destination = gitops.Destination{Name: "away", Namespace: w.namespace}
	})
	w.save(web)
	w.start()
	if err := w.Sync(Key{Name: "web"}, "one", gitops.Operation{}); err != nil {
		t.Fatal(err)
	}
	s := w.ended("web", gitops.OperationError)
	if !strings.Contains(s.OperationState.Message, "nobody is at home") {
		t.Errorf("it says %s", show(s))
	}
	web.Meta.Annotations = map[string]string{object.AnnotationSkipReconcile: "true"}
	w.save(web)
	for what, err := range map[string]error{
		"sync": w.Sync(Key{Name: "web"}, "two", gitops.Operation{}), "refresh": w.Refresh(Key{Name: "web"}, false), "release": w.Release(Key{Name: "web"}),
	} {
		if !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), object.AnnotationSkipReconcile) {
			t.Errorf("%s gives %v", what, err)
		}
	}
}

// TestKilled: an agent that is stopped at any step of a sync goes on with it, and
// runs no hook twice.
func TestKilled(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 9; at += 2 {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			commit := w.git.Commit(map[string]string{
				"web/before.yaml": job("before", "none", fmt.Sprintf(hookNote, "PreSync")), "web/a.yaml": configMap("a", "one"),
				"web/b.yaml": configMap("b", "one", fmt.Sprintf(waveNote, 1)), "web/c.yaml": configMap("c", "one", fmt.Sprintf(waveNote, 2)),
				"web/after.yaml": job("after", "none", fmt.Sprintf(hookNote, "PostSync")),
			})
			made := w.jobsMade()
			w.save(w.app("web", automated))
			w.start()
			for range at {
				w.mu.Lock()
				moved := w.moved
				w.mu.Unlock()
				select {
				case <-moved:
				case <-time.After(patience):
					t.Fatal("nothing moves")
				}
				if s, ok := w.Status(Key{Name: "web"}); ok && s.OperationState != nil && s.OperationState.Phase.Ended() {
					break
				}
			}
			w.stop()
			w.start()
			w.synced("web", commit)
			for name, uids := range made() {
				if len(uids) != 1 {
					t.Errorf("the hook %s was made %d times", name, len(uids))
				}
			}
		})
	}
}

// jobsMade watches which Jobs are made, by name and uid.
func (w *world) jobsMade() func() map[string]map[types.UID]bool {
	w.Helper()
	res, err := w.cluster.Resource(applying.Named(schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "Job"}, object.Key{Namespace: w.namespace}))
	if err != nil {
		w.Fatal(err)
	}
	events, err := res.Watch(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	made := map[string]map[types.UID]bool{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events.ResultChan() {
			if o, ok := e.Object.(*unstructured.Unstructured); ok {
				if made[o.GetName()] == nil {
					made[o.GetName()] = map[types.UID]bool{}
				}
				made[o.GetName()][o.GetUID()] = true
			}
		}
	}()
	return func() map[string]map[types.UID]bool { events.Stop(); <-done; return made }
}

// TestAProjectBoundsItsApplications: where they may go, what they may have, and when
// they may be synced.
func TestAProjectBoundsItsApplications(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one"), "web/role.yaml": "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\n"})
	spec := gitops.ProjectSpec{
		SourceRepos: []string{"*"}, Destinations: []gitops.Destination{{Server: "*", Namespace: "elsewhere"}},
		NamespaceResourceBlacklist: []gitops.KindPattern{{Group: "rbac.authorization.k8s.io", Kind: "*"}},
	}
	project := func() { w.docs.Projects = []gitops.Project{{Meta: gitops.Meta{Name: "team"}, Spec: spec}} }
	project()
	app := w.app("web", automated, func(s *gitops.ApplicationSpec) { s.Project, s.SyncPolicy.Retry = "team", &gitops.Retry{} })
	w.save(app)
	w.start()
	says := func(kind gitops.ConditionType, text string) {
		t.Helper()
		w.until("web", "refused for "+text, func(s gitops.ApplicationStatus) bool {
			return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool { return c.Type == kind && strings.Contains(c.Message, text) })
		})
		if w.data("a", "a") != "" {
			t.Fatalf("a was applied though %s", text)
		}
	}
	says(gitops.ConditionInvalidSpec, w.namespace)
	spec.Destinations[0].Namespace = "test-*"
	project()
	w.save(app)
	says(gitops.ConditionSyncError, "rbac.authorization.k8s.io/Role")
	spec.NamespaceResourceBlacklist = nil
	spec.SyncWindows = []gitops.SyncWindow{{Kind: "deny", Schedule: "* * * * *", Duration: "1h", Applications: []string{"*"}}}
	project()
	w.save(w.app("web", automated, func(s *gitops.ApplicationSpec) { s.Project = "team" }))
	says(gitops.ConditionSyncWindow, "deny")
	if err := w.Sync(Key{Name: "web"}, "", gitops.Operation{}); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("a sync by hand gave %v; want a conflict", err)
	}
	spec.SyncWindows[0].ManualSync = true
	project()
	w.save(w.docs.Applications...)
	if err := w.Sync(Key{Name: "web"}, "", gitops.Operation{}); err != nil {
		t.Fatal(err)
	}
	w.synced("web", first)

	// What is applied is applied as the account that the project has for it.
	account := gitops.DestinationAccount{Server: InClusterServer, Namespace: w.namespace, Account: "deployer"}
	spec.SyncWindows, spec.DestinationServiceAccounts = nil, []gitops.DestinationAccount{{Server: "https://other", Account: "ops:anybody"}}
	w.docs.Settings.Accounts = true
	project()
	w.save(w.app("web", func(s *gitops.ApplicationSpec) { s.Project = "team" }))
	second := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "two"), "web/role.yaml": ""})
	fails := func(phase gitops.OperationPhase, text string) {
		t.Helper()
		if err := w.Sync(Key{Name: "web"}, "", gitops.Operation{}); err != nil {
			t.Fatal(err)
		}
		w.until("web", "refused for "+text, func(s gitops.ApplicationStatus) bool {
			o := s.OperationState
			return o != nil && o.Phase == phase && strings.Contains(o.Message+w.results(s), text)
		})
		if w.data("a", "a") != "one" {
			t.Fatalf("a was applied though %s", text)
		}
	}
	fails(gitops.OperationError, "has no account for the namespace")
	spec.DestinationServiceAccounts = append(spec.DestinationServiceAccounts, account)
	project()
	w.save(w.docs.Applications...)
	fails(gitops.OperationFailed, `User "system:serviceaccount:`+w.namespace+`:deployer" cannot`)
	for _, doc := range []string{
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"Role","metadata":{"name":"deployer"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","create","patch"]}]}`,
		`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"deployer"},"subjects":[{"kind":"ServiceAccount","name":"deployer"}],"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"deployer"}}`,
	} {
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON([]byte(doc)); err != nil {
			t.Fatal(err)
		}
		o.SetNamespace(w.namespace)
		if _, err := w.cluster.Create(t.Context(), o, "test"); err != nil {
			t.Fatal(err)
		}
	}
	w.until("web", "synced as the account", func(s gitops.ApplicationStatus) bool {
		if o := s.OperationState; o != nil && o.Phase.Ended() && o.Phase != gitops.OperationSucceeded { // the cluster hears of roles later
			_ = w.Sync(Key{Name: "web"}, "", gitops.Operation{})
		}
		return s.OperationState != nil && s.OperationState.Phase == gitops.OperationSucceeded && s.OperationState.SyncResult.Revision == second
	})
	if w.data("a", "a") != "two" {
		t.Error("it wasn't applied as the account")
	}

	// What nobody has signed is neither synced nor healed.
	spec.SignatureKeys = []gitops.SignatureKey{{KeyID: "4AEE18F83AFDEB23"}}
	project()
	w.save(w.app("web", automated, func(s *gitops.ApplicationSpec) { s.Project = "team" }))
	w.until("web", "unsigned", func(s gitops.ApplicationStatus) bool {
		return slices.ContainsFunc(s.Conditions, func(c gitops.Condition) bool {
			return c.Type == gitops.ConditionComparisonError && strings.Contains(c.Message, second) && strings.Contains(c.Message, "it isn't signed")
		})
	})
	w.edit("a", `{"data":{"a":"one"}}`)
	fails(gitops.OperationError, "it isn't signed")
}

// results are what a sync says of its objects.
func (w *world) results(s gitops.ApplicationStatus) string {
	var out strings.Builder
	if s.OperationState != nil && s.OperationState.SyncResult != nil {
		for _, r := range s.OperationState.SyncResult.Resources {
			out.WriteString(r.Message + "\n")
		}
	}
	return out.String()
}

// TestIgnoredDifferences: they are no drift, and a sync leaves them only if it is to.
func TestIgnoredDifferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	k := Key{Name: "web"}
	first := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one, b: one")})
	ignore := func(s *gitops.ApplicationSpec) {
		s.IgnoreDifferences = []gitops.IgnoreRule{{Kind: "ConfigMap", JQPathExpressions: []string{".data.a"}}}
		s.SyncPolicy.SyncOptions = []string{"RespectIgnoreDifferences=true"}
	}
	w.save(w.app("web", automated, ignore))
	w.start()
	w.synced("web", first)
	w.edit("a", `{"data":{"a":"theirs","c":"theirs"}}`)
	second := w.git.Commit(map[string]string{"web/a.yaml": configMap("a", "one, b: two")})
	if err := w.Refresh(k, false); err != nil {
		t.Fatal(err)
	}
	s := w.synced("web", second)
	if w.data("a", "a") != "theirs" || w.data("a", "b") != "two" || len(s.History) != 2 {
		t.Errorf("a is %q, b is %q, %d entries of history; want theirs, two, 2", w.data("a", "a"), w.data("a", "b"), len(s.History))
	}
}
