package kubernetes

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

func count(n int) *lane.InstanceSelection   { return &lane.InstanceSelection{Count: &n} }
func percent(n int) *lane.InstanceSelection { return &lane.InstanceSelection{Percentage: &n} }

func TestScale(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		workload string
		pick     *lane.InstanceSelection
		want     int32
		err      string
	}{
		{"a count", "Deployment/web", count(5), 5, ""},
		{"kubernetes §15 a count of none", "Deployment/web", count(0), 0, ""},
		{"kubernetes §23.26 a percentage is of what is there, rounded up", "Deployment/web", percent(50), 2, ""},
		{"more than there is", "Deployment/web", percent(200), 6, ""},
		{"kinds are found by any case", "deployment/web", count(1), 1, ""},
		{"kubernetes §23.26 no kind", "web", count(1), 3, `"web" doesn't name a resource`},
		{"no such workload", "Deployment/none", count(1), 3, "no Deployment/none"},
		{"kubernetes §15 what has no replicas", "DaemonSet/web", count(1), 3, "DaemonSet/web can't be scaled"},
		{"no such kind", "Unheard/web", count(1), 3, `no kind "Unheard"`},
		{"nothing selected", "Deployment/web", nil, 3, "instanceSelection"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 3)))
			p := s.step(lane.OpScale, "")
			p.Workload, p.Instances = tt.workload, tt.pick
			if tt.err == "" {
				s.succeed(t, p)
				s.succeed(t, p) // as after a lost delegate
			} else {
				s.fail(t, p, tt.err)
			}
			want, available := s.replicas(t, "web")
			if want != tt.want || available != tt.want {
				t.Errorf("the Deployment asks for %d and has %d; want %d", want, available, tt.want)
			}
		})
	}
}

// What can't become steady fails the step, unless it isn't waited for.
func TestScaleWaitsUnlessToldNotTo(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	deploy := s.step(lane.OpRolling, withDeadline(600, deploymentYAML("web", "broken:1", 0)))
	s.succeed(t, deploy)
	p := s.step(lane.OpScale, "")
	p.Workload, p.Instances, p.SkipSteadyState = s.namespace+"/Deployment/web", count(2), true
	s.succeed(t, p)
	if want, available := s.replicas(t, "web"); want != 2 || available != 0 {
		t.Errorf("the Deployment asks for %d and has %d", want, available)
	}
	p.Instances, p.SkipSteadyState = count(3), false
	e := s.doUntil(t, says("ImagePullBackOff"), p)
	if !errors.Is(e.err, executor.ErrTimeout) || !contains(e.err.Error(), "Deployment/web isn't steady yet") {
		t.Errorf("ended %s, %v", e.Status, e.err)
	}
	if log := e.log(unitSteady); !contains(log, "ImagePullBackOff") {
		t.Errorf("the log doesn't say why:\n%s", log)
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	all := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web", "web") + fixedYAML("fixed", "1") + configYAML("cfg", "1")
	tests := []struct {
		name   string
		delete lane.ResourceSelection
		want   []string // what is left
		err    string
	}{
		{"kubernetes §15 by name", lane.ResourceSelection{Type: "ResourceName", Names: []string{"Service/web", "ConfigMap/fixed"}}, []string{"ConfigMap/cfg-1", "Deployment/web"}, ""},
		{"kubernetes §15 what isn't there is fine", lane.ResourceSelection{Type: "ResourceName", Names: []string{"Service/none", "Service/web"}}, []string{"ConfigMap/cfg-1", "ConfigMap/fixed", "Deployment/web"}, ""},
		{"kubernetes §15 a name without a kind", lane.ResourceSelection{Type: "ResourceName", Names: []string{"web"}}, []string{"ConfigMap/cfg-1", "ConfigMap/fixed", "Deployment/web", "Service/web"}, "want [namespace/]Kind/name"},
		{"kubernetes §15 by manifests", lane.ResourceSelection{Type: "ManifestPath", AllManifests: true}, []string{"ConfigMap/cfg-1"}, ""},
		{"kubernetes §15 a manifest that isn't there", lane.ResourceSelection{Type: "ManifestPath", ManifestPaths: []string{"none.yaml"}}, []string{"ConfigMap/cfg-1", "ConfigMap/fixed", "Deployment/web", "Service/web"}, `no file "none.yaml"`},
		{"kubernetes §15 by release", lane.ResourceSelection{Type: "ReleaseName"}, nil, ""},
		{"an unknown type", lane.ResourceSelection{Type: "Everything"}, []string{"ConfigMap/cfg-1", "ConfigMap/fixed", "Deployment/web", "Service/web"}, `"Everything"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, all))
			p := s.step(lane.OpDelete, all)
			p.Delete = &tt.delete
			if tt.err == "" {
				s.succeed(t, p)
			} else {
				s.fail(t, p, tt.err)
			}
			if diff := cmp.Diff(tt.want, s.names(t)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
			if records := s.records(t); (len(records) == 0) != (tt.delete.Type == "ReleaseName") {
				t.Errorf("release records left: %v", records)
			}
			pods, err := s.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{})
			check(t, err)
			if kept := contains(tt.want, "Deployment/web"); kept != (len(pods.Items) == 1) {
				t.Errorf("%d pods are left; Deployment kept: %v", len(pods.Items), kept)
			}
		})
	}
}

// semantics/kubernetes §15: the release's namespace goes only if that is asked
// for.
func TestDeleteReleaseWithItsNamespace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	own := s.namespace + "-own"
	all := "apiVersion: v1\nkind: Namespace\nmetadata: {name: " + own + "}\n" + deploymentYAML("web", "nginx:1", 1)
	p := s.step(lane.OpRolling, all)
	p.Target.Namespace = own
	s.succeed(t, p)

	gone := in(p, lane.OpDelete)
	gone.Delete = &lane.ResourceSelection{Type: "ReleaseName"}
	s.succeed(t, gone)
	ns, err := s.CoreV1().Namespaces().Get(t.Context(), own, metav1.GetOptions{})
	check(t, err)
	if ns.DeletionTimestamp != nil {
		t.Error("the namespace was deleted without having been asked for")
	}
	s.succeed(t, p)
	gone.Delete.DeleteNamespace = true
	s.succeed(t, gone)
	ns, err = s.CoreV1().Namespaces().Get(t.Context(), own, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) && (err != nil || ns.Status.Phase != corev1.NamespaceTerminating) {
		t.Errorf("the namespace is %v, %v; want it gone", ns.Status.Phase, err)
	}
}

// semantics/kubernetes §15: without a history there is nothing to delete, and
// that is fine.
func TestDeleteReleaseThatNeverWas(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpDelete, "")
	p.Delete = &lane.ResourceSelection{Type: "ReleaseName"}
	if log := s.succeed(t, p).log(unitDelete); !contains(log, "no resources found") {
		t.Errorf("the log says %q", log)
	}
}

func TestApplyOfAJobWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpApply, jobYAML("migrate", ""))
	p.FilePaths = []string{"app.yaml"}
	s.succeed(t, p)
	job, err := s.BatchV1().Jobs(s.namespace).Get(t.Context(), "migrate", metav1.GetOptions{})
	check(t, err)
	if job.Status.Succeeded != 1 {
		t.Errorf("the step ended before the Job did: %+v", job.Status)
	}
	if records := s.records(t); len(records) != 0 {
		t.Errorf("K8sApply made the release records %v", records)
	}
}

// semantics/kubernetes §23.27.
func TestApplyOfAJobThatFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpApply, jobYAML("migrate", "crashloop"))
	p.FilePaths = []string{"app.yaml"}
	s.fail(t, p, "Job/migrate failed", "backoff limit")
	p.SkipSteadyState = true
	s.succeed(t, p)
}

// semantics/kubernetes §15: nothing that K8sApply applies gets a version or is
// left out.
func TestApplyVersionsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpApply, configYAML("cfg", "1")+deploymentYAML("web", "nginx:1", 1))
	p.FilePaths = []string{"app.yaml"}
	s.succeed(t, p)
	if diff := cmp.Diff([]string{"ConfigMap/cfg", "Deployment/web"}, s.names(t)); diff != "" {
		t.Errorf("what is there (-want +got):\n%s", diff)
	}
	p = s.step(lane.OpApply, "{{ if .Values.none }}x{{ end }}")
	p.FilePaths = []string{"app.yaml"}
	s.fail(t, p, "render to nothing")
}
