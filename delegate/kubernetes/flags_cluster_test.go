package kubernetes

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

func flagged(p job, flags string) job {
	command := lane.CommandApply
	if p.Op == lane.OpDelete {
		command = lane.CommandDelete
	}
	p.CommandFlags = []origin.CommandFlag{{Command: command, Flag: flags}}
	return p
}

func TestApplyFlagsAndOtherOwners(t *testing.T) {
	t.Parallel()
	tests := []struct{ flags, want, err string }{
		{"--force-conflicts", "nginx:2", ""},
		{"--server-side", "other:1", `conflict with "somebody"`},
		{"--server-side --force-conflicts", "nginx:2", ""},
		{"--force-conflicts=false", "other:1", `conflict with "somebody"`},
		{"--prune", "other:1", "the flag --prune of the command Apply"},
	}
	for _, tt := range tests {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
			patch := `{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"other:1"}]}}}}`
			_, err := s.AppsV1().Deployments(s.namespace).Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"})
			check(t, err)
			p := flagged(s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 1)), tt.flags)
			if tt.err == "" {
				s.succeed(t, p)
			} else {
				s.fail(t, p, tt.err)
			}
			if got := s.image(t, "web"); got != tt.want {
				t.Errorf("the Deployment runs %s, want %s", got, tt.want)
			}
		})
	}
}

func TestValidateFlag(t *testing.T) {
	t.Parallel()
	manifest := `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
bogus: 1
spec:
  replica: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "nginx:1", imagePolicy: Always}]}
`
	tests := []struct{ flags, err string }{
		{"--validate", "field not declared in schema"},
		{"--validate=strict", "field not declared in schema"},
		{"--validate=false", ""},
		{"--validate=warn", ""},
	}
	for _, tt := range tests {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := flagged(s.step(lane.OpRolling, manifest), tt.flags)
			if tt.err != "" {
				s.fail(t, p, "Deployment/web", tt.err)
				return
			}
			e := s.succeed(t, p)
			if got := s.image(t, "web"); got != "nginx:1" {
				t.Errorf("the Deployment runs %s", got)
			}
			for _, field := range []string{".bogus", ".spec.replica", `.spec.template.spec.containers[name="main"].imagePolicy`} {
				if log := e.log(unitApply); !contains(log, "doesn't know "+field+";") {
					t.Errorf("the log doesn't tell of %s:\n%s", field, log)
				}
			}
		})
	}
}

// A client-side apply takes lists with entries of one key, so they are taken
// here, too: the last entry is the one that counts for a pod.
func TestEntriesOfOneKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	manifest := strings.Replace(deploymentYAML("web", "nginx:1", 1), `image: "nginx:1"`, `image: "nginx:1",
        env: [{name: A, value: "1"}, {name: B, value: "1"}, {name: A, value: "2"}],
        ports: [{containerPort: 80, name: a}, {containerPort: 80, protocol: TCP, name: b}, {containerPort: 80, protocol: UDP, name: c}]`, 1)
	e := s.succeed(t, s.step(lane.OpRolling, manifest))
	var got []string
	c := s.deployment(t, "web").Spec.Template.Spec.Containers[0]
	for _, v := range c.Env {
		got = append(got, v.Name+v.Value)
	}
	for _, p := range c.Ports {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{"B1", "A2", "b", "c"}, got); diff != "" {
		t.Errorf("the container (-want +got):\n%s", diff)
	}
	if log := e.log(unitApply); !contains(log, `has several entries [name="A"]`) {
		t.Errorf("the log doesn't warn:\n%s", log)
	}
}

// What can't be changed is made anew, and only then.
func TestForceFlagRecreates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	job := func(image string) job {
		p := s.step(lane.OpApply, "---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: \""+image+"\"}]}}}\n")
		p.FilePaths = []string{"app.yaml"}
		return p
	}
	read := func() (types.UID, string) {
		j, err := s.BatchV1().Jobs(s.namespace).Get(t.Context(), "migrate", metav1.GetOptions{})
		check(t, err)
		return j.UID, j.Spec.Template.Spec.Containers[0].Image
	}
	s.succeed(t, job("busybox:1"))
	was, _ := read()
	s.fail(t, job("busybox:2"), "Job/migrate", "immutable")
	s.succeed(t, flagged(job("busybox:1"), "--force"))
	if now, _ := read(); now != was {
		t.Error("a Job that hasn't changed was made anew")
	}
	s.succeed(t, flagged(job("busybox:2"), "--force"))
	if now, image := read(); now == was || image != "busybox:2" {
		t.Errorf("the Job is %s with %s", now, image)
	}
}

func TestOtherApplyFlags(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpApply, fixedYAML("fixed", "1"))
	p.FilePaths = []string{"app.yaml"}
	s.succeed(t, flagged(p, "--dry-run=server"))
	if got := s.names(t); len(got) != 0 {
		t.Errorf("the dry run made %v", got)
	}
	s.succeed(t, flagged(p, "--field-manager=team-a --record"))
	c, err := s.CoreV1().ConfigMaps(s.namespace).Get(t.Context(), "fixed", metav1.GetOptions{})
	check(t, err)
	if c.ManagedFields[0].Manager != "team-a" || c.Annotations[annotationCause] != "K8sApply of rel" {
		t.Errorf("owner %s, annotations %v", c.ManagedFields[0].Manager, c.Annotations)
	}
}

func TestDeleteFlags(t *testing.T) {
	t.Parallel()
	finalized := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "held", Finalizers: []string{"example.org/hold"}}}
	tests := []struct {
		flags string
		name  string // what is deleted
		err   string
		want  []string // what is left, without what is being deleted
		pods  int
	}{
		{"--dry-run=client", "Deployment/web", "", []string{"ConfigMap/held", "Deployment/web"}, 1},
		{"--cascade=orphan", "Deployment/web", "", []string{"ConfigMap/held"}, 1},
		{"--cascade=foreground --grace-period=0", "Deployment/web", "", []string{"ConfigMap/held"}, 0},
		{"--wait=false", "ConfigMap/held", "", []string{"Deployment/web"}, 1},
		{"--timeout=1s", "ConfigMap/held", "ConfigMap/held is still there", []string{"Deployment/web"}, 1},
		{"--all", "Deployment/web", "--all", []string{"ConfigMap/held", "Deployment/web"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
			_, err := s.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), &finalized, metav1.CreateOptions{})
			check(t, err)
			t.Cleanup(func() { s.release(t) })
			p := flagged(s.step(lane.OpDelete, ""), tt.flags)
			p.Delete = &lane.ResourceSelection{Type: "ResourceName", Names: []string{tt.name}}
			if tt.err == "" {
				s.succeed(t, p)
			} else {
				s.fail(t, p, tt.err)
			}
			if diff := cmp.Diff(tt.want, s.names(t)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
			pods, err := s.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
			check(t, err)
			if len(pods.Items) != tt.pods {
				t.Errorf("%d pods are left, want %d", len(pods.Items), tt.pods)
			}
		})
	}
}

// release lets go of the ConfigMap that a finalizer holds.
func (s *site) release(t *testing.T) {
	t.Helper()
	patch := []byte(`{"metadata":{"finalizers":null}}`)
	_, err := s.CoreV1().ConfigMaps(s.namespace).Patch(context.WithoutCancel(t.Context()), "held", types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

// Flags that the executor can't honour fail before anything is done.
func TestFlagsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	e := s.fail(t, flagged(s.step(lane.OpRolling, fixedYAML("fixed", "1")), "--selector=a=b"), "--selector")
	if diff := cmp.Diff(fault.Failures(fault.New(fault.Unsupported, "x")), e.FailureTypes); diff != "" {
		t.Errorf("failure types (-want +got):\n%s", diff)
	}
	if got := s.names(t); len(got) != 0 {
		t.Errorf("there is %v", got)
	}
}
