package kubernetes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// share is a phase of a progressive canary.
func (s *site) share(percent int, manifest string) job {
	p := s.step(lane.OpCanary, manifest)
	p.TargetPercentage = percent
	return p
}

// then is a later phase of the same stage.
func then(p job, percent int) job {
	p.Work.Step, p.TargetPercentage = fmt.Sprintf("step%d", percent), percent
	return p
}

func (s *site) bounds(t *testing.T) map[string]string {
	t.Helper()
	list, err := s.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	out := map[string]string{}
	for _, o := range list.Items {
		out[o.Name] = fmt.Sprintf("%s %d-%d", o.Spec.ScaleTargetRef.Name, *o.Spec.MinReplicas, o.Spec.MaxReplicas)
	}
	return out
}

func versioned(image, config string, replicas int) string {
	return shop(image, config, "", replicas)
}

// semantics/kubernetes §13.4: pods move from the one Deployment to the other,
// phase by phase; what served goes at 100 percent, and the next canary takes
// the place of this one.
func TestProgressiveCanary(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, versioned("nginx:1", "1", 4)))

	p := s.share(25, versioned("nginx:2", "2", 4))
	e := s.succeed(t, p)
	if got := e.output(t, "canaryWorkload"); got != s.namespace+"/Deployment/web-v2" || e.output(t, "targetInstances") != 1.0 {
		t.Errorf("the outputs are %s", e.Outputs)
	}
	s.has(t, "web", 3)
	s.has(t, "web-v2", 1)
	s.succeed(t, p) // as after a lost delegate
	s.has(t, "web-v2", 1)

	s.succeed(t, then(p, 50))
	s.has(t, "web", 2)
	s.has(t, "web-v2", 2)
	s.fail(t, then(p, 25), "Deployment/web-v2 has 2 pods already")

	s.succeed(t, then(p, 100))
	s.has(t, "web-v2", 4)
	if diff := cmp.Diff([]string{"ConfigMap/cfg-1", "ConfigMap/cfg-v2", "Deployment/web-v2", "Service/web"}, s.names(t)); diff != "" {
		t.Errorf("at 100 percent (-want +got):\n%s", diff)
	}

	s.succeed(t, s.share(100, versioned("nginx:3", "3", 2)))
	s.has(t, "web-v3", 4) // what there is counts, not the manifest
	if names := s.names(t); contains(names, "Deployment/web-v2") {
		t.Errorf("there are %v", names)
	}
}

// A first phase whose delegate was lost after it had made the Deployment: the
// next try makes what comes after it. Later phases don't make it again.
func TestProgressiveCanaryIsCutOff(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.share(50, versioned("nginx:1", "1", 4)+jobYAML("migrate", "never-ready"))
	s.succeed(t, p)
	remove := func() {
		check(t, s.BatchV1().Jobs(s.namespace).Delete(t.Context(), "migrate", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}))
	}
	remove()
	s.succeed(t, p)
	if names := s.names(t); !contains(names, "Job/migrate") {
		t.Errorf("after the next try there are %v", names)
	}
	s.has(t, "web-v1", 2)
	remove()
	s.succeed(t, then(p, 100))
	if names := s.names(t); contains(names, "Job/migrate") {
		t.Errorf("after the last phase there are %v", names)
	}
	s.has(t, "web-v1", 4)
}

// The first of all has nothing to take over, and nothing to go back to.
func TestProgressiveCanaryOfNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.share(50, versioned("nginx:1", "1", 4))
	s.succeed(t, p)
	s.has(t, "web-v1", 2)
	s.succeed(t, in(p, lane.OpProgressiveRollback))
	s.has(t, "web-v1", 2)
	s.succeed(t, s.step(lane.OpProgressiveRollback, "")) // of a stage that deployed nothing
}

// semantics/kubernetes §13.4: a rollback from wherever the canary is restores
// the Deployment that served, also if that has been deleted.
func TestProgressiveCanaryRollback(t *testing.T) {
	t.Parallel()
	for _, percent := range []int{50, 100} {
		t.Run(fmt.Sprint(percent), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.succeed(t, s.step(lane.OpRolling, versioned("nginx:1", "1", 3)))
			was := s.standing(t)
			p := s.share(percent, versioned("nginx:2", "2", 3))
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpProgressiveRollback))
			back := s.standing(t)
			if diff := cmp.Diff(was.Template, back.Template); diff != "" {
				t.Errorf("the pod template isn't the earlier one (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(was.Objects, back.Objects); diff != "" || back.Serving != 3 {
				t.Errorf("%d pods serve (-want +got):\n%s", back.Serving, diff)
			}
			s.succeed(t, in(p, lane.OpProgressiveRollback)) // once more changes nothing
			s.has(t, "web", 3)
		})
	}
}

// A canary whose pods don't get ready fails with the reason while the rest
// still serves, and goes back.
func TestProgressiveCanaryThatFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.succeed(t, s.step(lane.OpRolling, versioned("nginx:1", "1", 4)))
	p := s.share(50, versioned("broken:2", "2", 4))
	s.fail(t, p, "can't get its image broken:2", "progress")
	s.has(t, "web", 4)
	s.succeed(t, in(p, lane.OpProgressiveRollback))
	s.has(t, "web", 4)
	if names := s.names(t); contains(names, "Deployment/web-v2") {
		t.Errorf("there are %v", names)
	}
}

// semantics/kubernetes §13.4: both autoscalers have their shares of their
// bounds.
func TestProgressiveCanaryWithAutoscalers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := func(image string) string {
		return deploymentYAML("web", image, 4) + serviceYAML("web", "web") + wideScalerYAML
	}
	s.succeed(t, s.step(lane.OpRolling, all("nginx:1")))
	p := s.share(25, all("nginx:2"))
	s.succeed(t, p)
	if diff := cmp.Diff(map[string]string{"web": "web 3-75", "web-v2": "web-v2 1-25"}, s.bounds(t)); diff != "" {
		t.Errorf("a quarter (-want +got):\n%s", diff)
	}
	s.succeed(t, then(p, 100))
	if diff := cmp.Diff(map[string]string{"web-v2": "web-v2 4-100"}, s.bounds(t)); diff != "" {
		t.Errorf("the whole (-want +got):\n%s", diff)
	}
	s.succeed(t, in(p, lane.OpProgressiveRollback))
	if diff := cmp.Diff(map[string]string{"web": "web 4-100"}, s.bounds(t)); diff != "" {
		t.Errorf("after the rollback (-want +got):\n%s", diff)
	}
}

const wideScalerYAML = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 100, minReplicas: 4, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"
