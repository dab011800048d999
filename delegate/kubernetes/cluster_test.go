package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	"github.com/slipway-cd/slipway/delegate/shell"
	"github.com/slipway-cd/slipway/internal/testcluster"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// site is a namespace of a real cluster with an executor, and a client of its
// own that looks at what is really there.
type site struct {
	clientset.Interface
	dyn       dynamic.Interface
	config    *rest.Config
	namespace string
	cluster   task.Cluster
	run       executor.Executor
	stage     int // numbers the executions
}

func newSite(tb testing.TB) *site {
	tb.Helper()
	kubeconfig, namespace := testcluster.Namespace(tb)
	return siteOf(tb, kubeconfig, namespace)
}

func siteOf(tb testing.TB, kubeconfig, namespace string) *site {
	tb.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		tb.Fatal(err)
	}
	config.QPS = -1
	client, err := clientset.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		tb.Fatal(err)
	}
	return &site{
		Interface: client, dyn: dyn, config: config, namespace: namespace, run: New(Config{Cache: tb.TempDir(), Script: shell.New(os.Environ(), tb.TempDir())}),
		cluster: task.Cluster{URL: config.Host, Token: config.BearerToken, CAPEM: string(config.CAData)},
	}
}

// step is a task of one step in an execution of its own, with inline manifests.
func (s *site) step(op lane.Op, manifest string) job {
	s.stage++
	return job{
		Work: task.Work{Target: task.Target{Service: "web"}, Execution: fmt.Sprintf("e%d", s.stage), Stage: "deploy", Step: "step"},
		Spec: lane.Spec{Op: op, Target: lane.Target{
			Cluster: s.cluster, Namespace: s.namespace, ReleaseName: "rel",
			Manifest: &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Inline: manifest}},
		}},
	}
}

// job is the payload of a task with its spec.
type job struct {
	Work task.Work
	lane.Spec
}

func (j job) assignment(tb testing.TB) task.Assignment {
	tb.Helper()
	return executortest.Work(tb, lane.Kind, j.Work, j.Spec, nil)
}

// in is another step of the same stage.
func in(p job, op lane.Op) job {
	p.Op, p.Work.Step = op, string(op)
	return p
}

// ended is how a step ended, as the control plane and people see it.
type ended struct {
	task.Result
	err error
	env *executortest.Env
}

// do runs a step to its end.
func (s *site) do(t *testing.T, p job) ended {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, executor.ErrTimeout)
	defer cancel()
	return s.doIn(ctx, t, p, executortest.New(t, nil))
}

// patience is what a step has that takes seconds on a quiet machine.
const patience = 5 * time.Minute

// sign looks at a namespace's pods and Deployments, as JSON, for what a test
// waits for.
type sign func(state string) bool

// says looks for a text.
func says(text string) sign { return func(state string) bool { return strings.Contains(state, text) } }

// doUntil runs a step whose time is up when it waits for its workloads and the
// cluster shows a sign.
func (s *site) doUntil(t *testing.T, shown sign, p job) ended {
	t.Helper()
	return s.doOnce(t, p, shown, func(_ context.Context, end context.CancelCauseFunc) { end(executor.ErrTimeout) })
}

// doGivenUp runs a step with a Deployment of time enough, that its controller
// gives up when it is waited for and the cluster shows a sign: its deadline is
// shortened then, by which no machine is too busy for the sign.
func (s *site) doGivenUp(t *testing.T, shown sign, p job) ended {
	t.Helper()
	deadline := func(ctx context.Context, seconds int) {
		patch := fmt.Sprintf(`{"spec":{"progressDeadlineSeconds":%d}}`, seconds)
		_, err := s.AppsV1().Deployments(s.namespace).Patch(ctx, "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "impatient"})
		if err != nil {
			t.Error(err)
		}
	}
	e := s.doOnce(t, p, shown, func(ctx context.Context, _ context.CancelCauseFunc) { deadline(ctx, 1) })
	deadline(t.Context(), deadlineOf("")) // which the manifests of a rollback have
	return e
}

// doOnce runs a step, and f beside it once it waits for its workloads and the cluster
// shows a sign: it may have shown it before the step began.
func (s *site) doOnce(t *testing.T, p job, shown sign, f func(context.Context, context.CancelCauseFunc)) ended {
	t.Helper()
	bounded, cancel := context.WithTimeoutCause(t.Context(), patience, executor.ErrTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(bounded)
	env := executortest.New(t, nil)
	waits, looked := make(chan struct{}), make(chan struct{})
	env.At(unitSteady, 1, func() { close(waits) })
	go func() {
		defer close(looked)
		select {
		case <-ctx.Done():
			return
		case <-waits:
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for !shown(s.state(ctx)) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		f(ctx, end)
	}()
	e := s.doIn(ctx, t, p, env)
	end(nil)
	<-looked
	return e
}

// state is what a sign looks at; nothing, if the cluster doesn't answer.
func (s *site) state(ctx context.Context) string {
	pods, err := s.CoreV1().Pods(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	deployments, err := s.AppsV1().Deployments(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	text, err := json.Marshal([]any{pods.Items, deployments.Items})
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *site) doIn(ctx context.Context, t *testing.T, p job, env *executortest.Env) ended {
	t.Helper()
	r, err := s.run(ctx, p.assignment(t), env.Env)
	return ended{r, err, env}
}

// succeed runs a step that must succeed.
func (s *site) succeed(t *testing.T, p job) ended {
	t.Helper()
	e := s.do(t, p)
	if e.err != nil || e.Status != task.Succeeded {
		t.Fatalf("%s ended %s: %s, %v", p.Op, e.Status, e.Message, e.err)
	}
	return e
}

// fail runs a step that must fail with a message that has all of the parts.
func (s *site) fail(t *testing.T, p job, parts ...string) ended {
	t.Helper()
	return s.do(t, p).failed(t, p, parts...)
}

// failed checks that a step failed with a message that has all of the parts.
func (e ended) failed(t *testing.T, p job, parts ...string) ended {
	t.Helper()
	if e.err != nil || e.Status != task.Failed {
		t.Fatalf("%s ended %s: %s, %v; want a failure", p.Op, e.Status, e.Message, e.err)
	}
	for _, part := range parts {
		if !strings.Contains(e.Message, part) {
			t.Errorf("%s failed with %q; want it to say %q", p.Op, e.Message, part)
		}
	}
	return e
}

// output is one value of a step's outputs.
func (e ended) output(t *testing.T, name string) any {
	t.Helper()
	var doc struct{ Output map[string]any }
	if err := json.Unmarshal(e.Outputs, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Output[name]
}

// log is all that was logged to a unit.
func (e ended) log(unit string) string {
	return e.env.Text(unit, executor.Info) + e.env.Text(unit, executor.Error)
}

// names lists what the namespace has of the kinds that the tests deploy, as
// Kind/name, without what every namespace has and the release records.
func (s *site) names(t *testing.T) []string {
	t.Helper()
	var out []string
	add := func(kind string, items []metav1.ObjectMeta) {
		for _, m := range items {
			if m.DeletionTimestamp == nil {
				out = append(out, kind+"/"+m.Name)
			}
		}
	}
	ctx, opts := t.Context(), metav1.ListOptions{}
	deployments, err := s.AppsV1().Deployments(s.namespace).List(ctx, opts)
	check(t, err)
	for _, o := range deployments.Items {
		add("Deployment", []metav1.ObjectMeta{o.ObjectMeta})
	}
	services, err := s.CoreV1().Services(s.namespace).List(ctx, opts)
	check(t, err)
	for _, o := range services.Items {
		add("Service", []metav1.ObjectMeta{o.ObjectMeta})
	}
	configs, err := s.CoreV1().ConfigMaps(s.namespace).List(ctx, opts)
	check(t, err)
	for _, o := range configs.Items {
		if o.Name != "kube-root-ca.crt" {
			add("ConfigMap", []metav1.ObjectMeta{o.ObjectMeta})
		}
	}
	for _, o := range s.secrets(t) {
		if !strings.HasPrefix(string(o.Type), "harness.io/") {
			add("Secret", []metav1.ObjectMeta{o.ObjectMeta})
		}
	}
	jobs, err := s.BatchV1().Jobs(s.namespace).List(ctx, opts)
	check(t, err)
	for _, o := range jobs.Items {
		add("Job", []metav1.ObjectMeta{o.ObjectMeta})
	}
	slices.Sort(out)
	return out
}

// records lists the release records' names.
func (s *site) records(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, o := range s.secrets(t) {
		if o.Type == "harness.io/release" {
			out = append(out, o.Name)
		}
	}
	slices.Sort(out)
	return out
}

func (s *site) secrets(t *testing.T) []corev1.Secret {
	t.Helper()
	list, err := s.CoreV1().Secrets(s.namespace).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	return list.Items
}

// replicas says how many pods a Deployment asks for and has available.
func (s *site) replicas(t *testing.T, name string) (want, available int32) {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	check(t, err)
	return *d.Spec.Replicas, d.Status.AvailableReplicas
}

// image is what a Deployment runs.
func (s *site) image(t *testing.T, name string) string {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	check(t, err)
	return d.Spec.Template.Spec.Containers[0].Image
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The manifests that tests put together.

// Whatever isn't meant to fail has time enough on a busy machine.
func deadlineOf(image string) int {
	if strings.HasPrefix(image, "broken") {
		return 3
	}
	return 60
}

func deploymentYAML(name, image string, replicas int) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[3]d
  progressDeadlineSeconds: %[4]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: main, image: "%[2]s"}]
`, name, image, replicas, deadlineOf(image))
}

// withDeadline gives the Deployments of a manifest another deadline.
func withDeadline(seconds int, manifest string) string {
	return regexp.MustCompile(`progressDeadlineSeconds: \d+`).ReplaceAllString(manifest, fmt.Sprintf("progressDeadlineSeconds: %d", seconds))
}

func configYAML(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {x: %q}\n", name, value)
}

// fixedYAML is a ConfigMap without a version.
func fixedYAML(name, value string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {harness.io/skip-versioning: \"true\"}}\ndata: {x: %q}\n", name, value)
}

func serviceYAML(name, app string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {selector: {app: %s}, ports: [{port: 80}]}\n", name, app)
}

func jobYAML(name, behaviour string) string {
	return fmt.Sprintf(`---
apiVersion: batch/v1
kind: Job
metadata: {name: %s}
spec:
  backoffLimit: 0
  template:
    metadata: {labels: {slipway.test/behaviour: "%s"}}
    spec:
      restartPolicy: Never
      containers: [{name: main, image: "busybox:1"}]
`, name, behaviour)
}

// contains says whether a list has an item, or a text a part.
func contains[T string | []string](in T, want string) bool {
	switch v := any(in).(type) {
	case string:
		return strings.Contains(v, want)
	case []string:
		return slices.Contains(v, want)
	}
	return false
}
