package kubernetes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/executor/executortest"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// A step whose time is up has marked its release, so that the rollback finds
// it and the next deployment doesn't take it for a good one.
func TestTimeoutLeavesAReleaseThatCanBeRolledBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
	slow := withDeadline(600, deploymentYAML("web", "broken:2", 1))
	p := s.step(lane.OpRolling, slow)
	e := s.doUntil(t, says("ImagePullBackOff"), p)
	if !errors.Is(e.err, executor.ErrTimeout) || !contains(e.err.Error(), "Deployment/web isn't steady yet") {
		t.Fatalf("ended %s, %v", e.Status, e.err)
	}
	if log := e.log(unitSteady); !contains(log, "ImagePullBackOff") {
		t.Errorf("the log doesn't say why:\n%s", log)
	}
	s.succeed(t, in(p, lane.OpRollingRollback))
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("after the rollback it runs %s", got)
	}
}

// A rollback's deadline begins with the rollback, although the Deployment's
// controller counts from when the broken pods last moved.
func TestRollbackHasADeadlineOfItsOwn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
	// No pods have to come in this time: they are there, and stay beside the broken ones.
	const deadline = 10
	s.succeed(t, s.step(lane.OpRolling, withDeadline(deadline, deploymentYAML("web", "nginx:1", 1))))
	slow := withDeadline(600, deploymentYAML("web", "broken:2", 1))
	p := s.step(lane.OpRolling, slow)
	var stuck time.Time
	over := func(state string) bool {
		if stuck.IsZero() && says("ImagePullBackOff")(state) {
			stuck = time.Now()
		}
		return !stuck.IsZero() && time.Since(stuck) > (deadline+1)*time.Second
	}
	if e := s.doUntil(t, over, p); !errors.Is(e.err, executor.ErrTimeout) {
		t.Fatalf("ended %s, %v", e.Status, e.err)
	}
	s.succeed(t, in(p, lane.OpRollingRollback))
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("after the rollback it runs %s", got)
	}
}

// semantics/kubernetes §21: what a delegate that died had begun is gone on
// with under its number.
func TestRetryGoesOnWithItsRelease(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)+configYAML("cfg", "1"))
	s.succeed(t, p)
	c, err := applying.Connect(s.cluster)
	check(t, err)
	died := newSession(p.Work, p.Spec, executortest.New(t, nil).Env, &client{c})
	all, err := died.history.all(t.Context())
	check(t, err)
	check(t, died.history.mark(t.Context(), all[0], releaseInProgress))

	if e := s.succeed(t, p); e.output(t, "releaseNumber") != 1.0 {
		t.Errorf("the retry made release %v", e.output(t, "releaseNumber"))
	}
	if e := s.succeed(t, p); e.output(t, "releaseNumber") != 2.0 {
		t.Errorf("the step went on with a release that had ended: %v", e.output(t, "releaseNumber"))
	}
	if diff := cmp.Diff([]string{"harness.release.rel.1", "harness.release.rel.2"}, s.records(t)); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// semantics/kubernetes §2: a namespace in the manifest wins; pods there are
// instances, too.
func TestManifestsOwnNamespace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := newSite(t)
	elsewhere := strings.Replace(deploymentYAML("far", "nginx:1", 1), "{name: far}", "{name: far, namespace: "+other.namespace+"}", 1)
	e := s.succeed(t, s.step(lane.OpRolling, deploymentYAML("near", "nginx:1", 1)+elsewhere))
	if diff := cmp.Diff([]string{"Deployment/near"}, s.names(t)); diff != "" {
		t.Errorf("here (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Deployment/far"}, other.names(t)); diff != "" {
		t.Errorf("there (-want +got):\n%s", diff)
	}
	if got := e.Changes[0].Instances; len(got) != 2 {
		t.Errorf("instances: %v", got)
	}
}

// What tools write into manifests doesn't keep them from being applied.
func TestGeneratedManifests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	generated := strings.Replace(deploymentYAML("web", "nginx:1", 1), "{name: web}", "{name: web, creationTimestamp: null}", 1) + "status: {}\n"
	s.succeed(t, s.step(lane.OpRolling, "kind: List\napiVersion: v1\nitems: []\n"+generated))
	s.succeed(t, s.step(lane.OpRolling, generated))
}

// semantics/kubernetes §6: each kind of workload is waited for; a Job in a
// rolling deployment is only applied.
func TestKindsOfWorkloads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	template := "{metadata: {labels: {app: APP}}, spec: {containers: [{name: main, image: \"nginx:1\"}]}}"
	manifest := "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {replicas: 2, serviceName: db, selector: {matchLabels: {app: db}}, template: " + strings.Replace(template, "APP", "db", 1) + "}\n" +
		"---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: agent}\nspec: {selector: {matchLabels: {app: agent}}, template: " + strings.Replace(template, "APP", "agent", 1) + "}\n" +
		jobYAML("stuck", "never-ready")
	s.succeed(t, s.step(lane.OpRolling, manifest))
	set, err := s.AppsV1().StatefulSets(s.namespace).Get(t.Context(), "db", metav1.GetOptions{})
	check(t, err)
	agents, err := s.AppsV1().DaemonSets(s.namespace).Get(t.Context(), "agent", metav1.GetOptions{})
	check(t, err)
	if set.Status.ReadyReplicas != 2 || agents.Status.NumberAvailable != 3 {
		t.Errorf("the step ended with %d and %d pods", set.Status.ReadyReplicas, agents.Status.NumberAvailable)
	}
	p := s.step(lane.OpScale, "")
	p.Workload, p.Instances = "StatefulSet/db", percent(150)
	s.succeed(t, p)
	set, err = s.AppsV1().StatefulSets(s.namespace).Get(t.Context(), "db", metav1.GetOptions{})
	check(t, err)
	if set.Status.ReadyReplicas != 3 {
		t.Errorf("after scaling the StatefulSet has %d pods", set.Status.ReadyReplicas)
	}
	bad := s.step(lane.OpRolling, strings.Replace(manifest, "nginx:1", "broken:2", 1))
	if e := s.doUntil(t, says("ImagePullBackOff"), bad); !errors.Is(e.err, executor.ErrTimeout) {
		t.Errorf("a broken StatefulSet ended %s, %v", e.Status, e.err)
	}
	s.succeed(t, in(bad, lane.OpRollingRollback))
	set, err = s.AppsV1().StatefulSets(s.namespace).Get(t.Context(), "db", metav1.GetOptions{})
	if err != nil || set.Spec.Template.Spec.Containers[0].Image != "nginx:1" || set.Status.ReadyReplicas != 2 {
		t.Errorf("%v, %v, %d pods", err, set.Spec.Template.Spec.Containers, set.Status.ReadyReplicas)
	}
}

// semantics/kubernetes §15: manifestSource replaces the service's manifests,
// which needn't exist, and overrides are above all other values.
func TestApplyManifestSourceAndOverrides(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	config := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME}\ndata: {a: {{ .Values.a | quote }}, b: {{ .Values.b | quote }}, c: {{ .Values.c | quote }}}\n"
	g := repository(t, map[string]string{
		"deploy/cfg.yaml":    strings.Replace(config, "NAME", "git", 1),
		"deploy/values.yaml": "a: default\nb: default\nc: default\n",
		"env/dev.yaml":       "b: dev\nc: dev\n",
	})
	read := func(name string) map[string]string {
		c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
		check(t, err)
		return c.Data
	}
	over := []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: "c: over\n"}}}
	want := map[string]string{"a": "default", "b": "dev", "c": "over"}

	p := s.step(lane.OpApply, "")
	p.Target.Manifest = nil
	p.ApplySource = &origin.Manifest{Type: "K8sManifest", Store: task.Store{Git: g}, ValuesPaths: []string{"env/dev.yaml"}}
	p.ApplyValues = over
	s.succeed(t, p)
	if diff := cmp.Diff(want, read("git")); diff != "" {
		t.Errorf("a source in Git (-want +got):\n%s", diff)
	}

	p = s.step(lane.OpApply, fixedYAML("unused", "1"))
	p.ApplySource = &origin.Manifest{Type: "K8sManifest", Store: task.Store{Inline: strings.Replace(config, "NAME", "inline", 1)}}
	p.ApplyValues = append([]origin.ValuesFile{{ID: "low", Store: task.Store{Inline: "a: default\nb: dev\nc: low\n"}}}, over...)
	s.succeed(t, p)
	if diff := cmp.Diff(want, read("inline")); diff != "" {
		t.Errorf("an inline source (-want +got):\n%s", diff)
	}

	p = from(s.step(lane.OpApply, ""), g)
	p.Target.Values = []origin.ValuesFile{{ID: "service", Store: task.Store{Inline: "b: dev\nc: service\n"}}}
	p.FilePaths, p.ApplyValues = []string{"cfg.yaml"}, over
	s.succeed(t, p)
	if diff := cmp.Diff(want, read("git")); diff != "" {
		t.Errorf("the service's manifests (-want +got):\n%s", diff)
	}

	p = s.step(lane.OpApply, fixedYAML("raw", "{{ .Values.a }}"))
	p.FilePaths, p.SkipRendering = []string{"app.yaml"}, true
	s.succeed(t, p)
	if diff := cmp.Diff(map[string]string{"x": "{{ .Values.a }}"}, read("raw")); diff != "" {
		t.Errorf("without rendering (-want +got):\n%s", diff)
	}
	if got := s.names(t); contains(got, "ConfigMap/unused") {
		t.Errorf("the service's manifests were applied, too: %v", got)
	}
}

// What quotas refuse is found while the step waits, and said.
func TestQuotaExplains(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	limit("pods", "0")(t, s, nil)
	p := s.step(lane.OpRolling, withDeadline(600, deploymentYAML("web", "nginx:1", 1)))
	e := s.doGivenUp(t, says("exceeded quota"), p).failed(t, p, "Deployment/web exceeded its progress deadline")
	if log := e.log(unitSteady); !contains(log, "exceeded quota") {
		t.Errorf("the log doesn't say why:\n%s", log)
	}
}
