package kubernetes

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

const scalerYAML = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\nspec: {maxReplicas: 9, minReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}\n"

// semantics/kubernetes §23.25: only the colour that doesn't serve loses its
// instances, and it gets them back with its autoscaler.
func TestStageScaleDownAndUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := deploymentYAML("web", "nginx:1", 3) + serviceYAML("web", "web") + scalerYAML
	first := s.step(lane.OpBlueGreen, all)
	s.succeed(t, first)
	s.succeed(t, in(first, lane.OpSwap))
	second := s.step(lane.OpBlueGreen, all)
	s.succeed(t, second)

	s.succeed(t, in(second, lane.OpStageScaleDown))
	s.has(t, "web-blue", 3)
	s.has(t, "web-green", 0)
	if got := s.scalers(t); len(got) != 1 || got[0] != "web-blue" {
		t.Errorf("the autoscalers are %v", got)
	}
	s.succeed(t, in(second, lane.OpStageScaleDown)) // nothing is left to do
	s.fail(t, in(second, lane.OpSwap), "Deployment/web-green was scaled down", "K8sBlueGreenStageScaleUp")

	s.succeed(t, in(second, lane.OpStageScaleUp))
	s.has(t, "web-green", 3)
	if got := s.scalers(t); len(got) != 2 {
		t.Errorf("the autoscalers are %v", got)
	}
	s.succeed(t, in(second, lane.OpSwap))
}

// The next deployment of a colour that was scaled down has instances, also if
// its manifests leave it to an autoscaler how many.
func TestDeployAfterStageScaleDown(t *testing.T) {
	t.Parallel()
	const number = "  replicas: 3\n"
	numbered := deploymentYAML("web", "nginx:1", 3) + serviceYAML("web", "web")
	open := strings.Replace(numbered, number, "", 1)
	tests := map[string]struct {
		manifest string
		want     int32
	}{
		"the manifests say how many": {strings.Replace(numbered, number, "  replicas: 2\n", 1), 2},
		"an autoscaler does":         {open + scalerYAML, 3},
		"nobody does":                {open, 3},
		"none are wanted":            {strings.Replace(numbered, number, "  replicas: 0\n", 1), 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.step(lane.OpBlueGreen, numbered)
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpSwap))
			p = s.step(lane.OpBlueGreen, numbered)
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpStageScaleDown))
			s.has(t, "web-green", 0)

			p = s.step(lane.OpBlueGreen, tt.manifest)
			s.succeed(t, p)
			s.has(t, "web-green", tt.want)
			s.succeed(t, in(p, lane.OpSwap))
		})
	}
}

// After the swap the old colour stands by; another execution may scale it.
func TestStageScaleDownInAnotherExecution(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := deploymentYAML("web", "nginx:1", 2) + serviceYAML("web", "web")
	for range 2 {
		p := s.step(lane.OpBlueGreen, all)
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
	}
	s.succeed(t, s.step(lane.OpStageScaleDown, ""))
	s.has(t, "web-blue", 0)
	s.has(t, "web-green", 2)

	up := s.step(lane.OpStageScaleUp, "")
	up.Instances = percent(150)
	s.succeed(t, up)
	s.has(t, "web-blue", 3)
	up.Instances = count(1)
	s.succeed(t, up)
	s.has(t, "web-blue", 1)
}

// semantics/kubernetes §14.4: nothing to scale is fine; two services with one
// colour aren't.
func TestStageScaleDownOfNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	if log := s.succeed(t, s.step(lane.OpStageScaleDown, "")).log(unitScale); !contains(log, "no blue-green release") {
		t.Errorf("the log says %q", log)
	}
	p := s.step(lane.OpBlueGreen, deploymentYAML("web", "nginx:1", 2)+serviceYAML("web", "web"))
	s.succeed(t, p)
	web, err := s.CoreV1().Services(s.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	check(t, err)
	web.Spec.Selector[labelColor] = blue
	_, err = s.CoreV1().Services(s.namespace).Update(t.Context(), web, metav1.UpdateOptions{})
	check(t, err)
	s.fail(t, s.step(lane.OpStageScaleDown, ""), `both point to "blue"`)
	s.has(t, "web-blue", 2)
}

func (s *site) has(t *testing.T, name string, want int32) {
	t.Helper()
	if wants, available := s.replicas(t, name); wants != want || available != want {
		t.Errorf("%s asks for %d and has %d; want %d", name, wants, available, want)
	}
}

func (s *site) scalers(t *testing.T) []string {
	t.Helper()
	list, err := s.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).List(t.Context(), metav1.ListOptions{})
	check(t, err)
	var out []string
	for _, o := range list.Items {
		out = append(out, o.Name)
	}
	return out
}
