package kubernetes

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// deployment reads a Deployment of the cluster.
func (s *site) deployment(t *testing.T, name string) *appsv1.Deployment {
	t.Helper()
	d, err := s.AppsV1().Deployments(s.namespace).Get(t.Context(), name, metav1.GetOptions{})
	check(t, err)
	return d
}

func TestSpec23Canary(t *testing.T) {
	t.Parallel()
	const followers = `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {minReplicas: 5, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: other}
spec: {minAvailable: 1, selector: {matchLabels: {app: other}}}
`
	for _, tt := range []struct {
		name     string
		pick     *lane.InstanceSelection
		replicas int
		want     int32
	}{
		{"kubernetes §23.16 half of 3", percent(50), 3, 2},
		{"kubernetes §23.16 a tenth of 4", percent(10), 4, 1},
		{"kubernetes §23.16 a count", count(2), 9, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			p := s.step(lane.OpCanary, deploymentYAML("web", "nginx:1", tt.replicas)+serviceYAML("web", "web")+configYAML("cfg", "1"))
			p.Instances = tt.pick
			e := s.succeed(t, p)
			if want, available := s.replicas(t, "web-canary"); want != tt.want || available != tt.want {
				t.Errorf("the canary asks for %d and has %d; want %d", want, available, tt.want)
			}
			if got := e.output(t, "canaryWorkload"); got != s.namespace+"/Deployment/web-canary" {
				t.Errorf("canaryWorkload is %v", got)
			}
			d := s.deployment(t, "web-canary")
			if d.Spec.Selector.MatchLabels[labelTrack] != "canary" || d.Spec.Template.Labels[labelTrack] != "canary" || d.Spec.Template.Labels[labelRelease] != "rel" {
				t.Errorf("selector %v, labels %v", d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
			}
			if diff := cmp.Diff([]string{"ConfigMap/cfg-canary", "Deployment/web-canary", "Service/web"}, s.names(t)); diff != "" {
				t.Errorf("what is there (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("kubernetes §13.1 a percentage is of what an autoscaler has", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		manifest := strings.Replace(deploymentYAML("web", "nginx:1", 1), "replicas: 1", "paused: false", 1) + followers
		p := s.step(lane.OpCanary, manifest)
		p.Instances = percent(40)
		s.succeed(t, p)
		if want, _ := s.replicas(t, "web-canary"); want != 2 { // of minReplicas
			t.Errorf("the canary asks for %d", want)
		}
		hpas, err := s.AutoscalingV2().HorizontalPodAutoscalers(s.namespace).List(t.Context(), metav1.ListOptions{})
		check(t, err)
		if len(hpas.Items) != 1 || hpas.Items[0].Name != "web-canary" || hpas.Items[0].Spec.ScaleTargetRef.Name != "web-canary" {
			t.Errorf("autoscalers: %+v", hpas.Items)
		}
		var budgets []string
		pdbs, err := s.PolicyV1().PodDisruptionBudgets(s.namespace).List(t.Context(), metav1.ListOptions{})
		check(t, err)
		for _, o := range pdbs.Items {
			budgets = append(budgets, o.Name+" "+o.Spec.Selector.MatchLabels[labelTrack])
		}
		if diff := cmp.Diff([]string{"other ", "web-canary canary"}, budgets); diff != "" {
			t.Errorf("budgets (-want +got):\n%s", diff)
		}
		s.succeed(t, in(p, lane.OpCanaryDelete))
		left, err := s.PolicyV1().PodDisruptionBudgets(s.namespace).List(t.Context(), metav1.ListOptions{})
		check(t, err)
		if len(left.Items) != 1 || left.Items[0].Name != "other" || len(s.names(t)) != 0 {
			t.Errorf("after K8sCanaryDelete: %v, %v", left.Items, s.names(t))
		}
	})
	t.Run("kubernetes §23.17 two workloads", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.fail(t, s.step(lane.OpCanary, deploymentYAML("a", "nginx:1", 1)+deploymentYAML("b", "nginx:1", 1)), "2 workloads", "canary")
		if got := s.names(t); len(got) != 0 {
			t.Errorf("there is %v", got)
		}
		direct := strings.Replace(deploymentYAML("b", "nginx:1", 1), "{name: b}", "{name: b, annotations: {harness.io/direct-apply: true}}", 1)
		s.succeed(t, s.step(lane.OpCanary, deploymentYAML("a", "nginx:1", 1)+direct))
		if diff := cmp.Diff([]string{"Deployment/a-canary", "Deployment/b"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
		s.fail(t, s.step(lane.OpCanary, configYAML("cfg", "1")), "0 workloads")
	})
	t.Run("kubernetes §23.18 deleting a canary that never was", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpCanaryDelete, deploymentYAML("web", "nginx:1", 1))
		p.Work.Rollback = true
		s.succeed(t, p)
	})
	t.Run("kubernetes §13.2 a canary takes nothing along that it didn't make", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		manifest := deploymentYAML("web", "nginx:1", 1) + serviceYAML("web-canary", "web") + fixedYAML("my-canary", "1")
		s.succeed(t, s.step(lane.OpRolling, manifest))
		p := s.step(lane.OpCanary, manifest)
		p.Instances = count(1)
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpCanaryDelete))
		if diff := cmp.Diff([]string{"ConfigMap/my-canary", "Deployment/web", "Service/web-canary"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
		s.succeed(t, in(p, lane.OpCanaryDelete)) // again: there is nothing left, and that is fine
	})
	t.Run("kubernetes §13.1 a failed canary goes only when it is deleted", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 2)))
		p := s.step(lane.OpCanary, deploymentYAML("web", "broken:2", 2))
		p.Instances = count(1)
		s.fail(t, p, "Deployment/web-canary exceeded its progress deadline")
		if diff := cmp.Diff([]string{"Deployment/web", "Deployment/web-canary"}, s.names(t)); diff != "" {
			t.Errorf("after the failure (-want +got):\n%s", diff)
		}
		s.succeed(t, in(p, lane.OpCanaryDelete))
		s.succeed(t, in(p, lane.OpRollingRollback)) // semantics/kubernetes §13.3: rolling never ran
		if diff := cmp.Diff([]string{"Deployment/web"}, s.names(t)); diff != "" || s.image(t, "web") != "nginx:1" {
			t.Errorf("after the rollback (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §13.1 a canary of another selector is made anew", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		first := s.step(lane.OpCanary, deploymentYAML("web", "nginx:1", 1))
		s.succeed(t, first)
		s.succeed(t, s.step(lane.OpCanary, strings.ReplaceAll(deploymentYAML("web", "nginx:2", 1), "app: web", "app: site")))
		if d := s.deployment(t, "web-canary"); d.Spec.Selector.MatchLabels["app"] != "site" {
			t.Errorf("the canary selects %v", d.Spec.Selector.MatchLabels)
		}
	})
	t.Run("kubernetes §23.19 the primary of a canary stage keeps its selector", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:1", 1)))
		p := s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 1))
		p.CanaryInStage = true
		s.succeed(t, p)
		d := s.deployment(t, "web")
		if d.Spec.Template.Labels[labelTrack] != "stable" || d.Spec.Selector.MatchLabels[labelTrack] != "" {
			t.Errorf("selector %v, labels %v", d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
		}
	})
	t.Run("kubernetes §11.1 a selector that has the track keeps it", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		tracked := strings.ReplaceAll(deploymentYAML("web", "nginx:1", 1), "app: web", "app: web, harness.io/track: stable")
		applied := s.step(lane.OpApply, tracked)
		applied.FilePaths = []string{"app.yaml"}
		s.succeed(t, applied)
		s.succeed(t, s.step(lane.OpRolling, deploymentYAML("web", "nginx:2", 1)))
		if got := s.image(t, "web"); got != "nginx:2" {
			t.Errorf("it runs %s", got)
		}
	})
}

func TestSpec23BlueGreen(t *testing.T) {
	t.Parallel()
	all := func(image string) string { return deploymentYAML("app", image, 2) + serviceYAML("web", "app") }
	t.Run("kubernetes §23.20 the first deployment", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpBlueGreen, all("nginx:1"))
		e := s.succeed(t, p)
		if diff := cmp.Diff([]string{"Deployment/app-blue", "Service/web", "Service/web-stage"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
		if got := s.colors(t); got != "green/blue" {
			t.Errorf("before the swap the services point to %s", got)
		}
		for name, want := range map[string]any{"primaryServiceName": "web", "stageServiceName": "web-stage", "primaryColor": "green", "stageColor": "blue"} {
			if got := e.output(t, name); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		s.succeed(t, in(p, lane.OpSwap))
		if got := s.colors(t); got != "blue/green" {
			t.Errorf("after the swap the services point to %s", got)
		}
	})
	t.Run("kubernetes §23.21 a rollback before the swap", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		first, second := s.step(lane.OpBlueGreen, all("nginx:1")), s.step(lane.OpBlueGreen, all("broken:2"))
		s.succeed(t, first)
		s.succeed(t, in(first, lane.OpSwap))
		s.fail(t, second, "Deployment/app-green exceeded its progress deadline")
		back := in(second, lane.OpSwap)
		back.Work.Rollback = true
		s.succeed(t, back)
		if got := s.colors(t); got != "blue/green" {
			t.Errorf("after the rollback the services point to %s", got)
		}
	})
	t.Run("kubernetes §23.22 a rollback after the swap", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		first, second := s.step(lane.OpBlueGreen, all("nginx:1")), s.step(lane.OpBlueGreen, all("nginx:2"))
		second.SkipSameManifest = true
		for _, p := range []job{first, second} {
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpSwap))
		}
		if got := s.colors(t); got != "green/blue" {
			t.Errorf("after the second swap the services point to %s", got)
		}
		back := in(second, lane.OpSwap)
		back.Work.Rollback = true
		s.succeed(t, back)
		s.succeed(t, back) // again
		if got := s.colors(t); got != "blue/green" {
			t.Errorf("after the rollback the services point to %s", got)
		}
		for _, name := range []string{"app-blue", "app-green"} {
			if want, available := s.replicas(t, name); want != 2 || available != 2 {
				t.Errorf("%s has %d of %d pods", name, available, want)
			}
		}
		// The same manifests again: they don't serve, so they aren't skipped.
		third := s.step(lane.OpBlueGreen, all("nginx:2"))
		third.SkipSameManifest = true
		if e := s.succeed(t, third); e.output(t, "skipped") != false || e.output(t, "stageColor") != "green" {
			t.Errorf("after the rollback: skipped %v, colour %v", e.output(t, "skipped"), e.output(t, "stageColor"))
		}
	})
	t.Run("kubernetes §23.24 pruning spares the release that stands by", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		deploy := func(extra string) []string {
			p := s.step(lane.OpBlueGreen, all("nginx:1")+fixedYAML("a", "1")+fixedYAML("b", "1")+fixedYAML(extra, "1"))
			p.Pruning = true
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpSwap))
			var configs []string
			for _, name := range s.names(t) {
				if rest, ok := strings.CutPrefix(name, "ConfigMap/"); ok {
					configs = append(configs, rest)
				}
			}
			return configs
		}
		for _, tt := range []struct{ extra, want string }{{"c", "a b c"}, {"d", "a b c d"}, {"e", "a b d e"}, {"f", "a b e f"}} {
			if got := strings.Join(deploy(tt.extra), " "); got != tt.want {
				t.Errorf("after the deployment of %s there is %s, want %s", tt.extra, got, tt.want)
			}
		}
		if diff := cmp.Diff([]string{"harness.release.rel.2", "harness.release.rel.3", "harness.release.rel.4"}, s.records(t)); diff != "" {
			t.Errorf("records (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §23.24 pruning spares the colour that serves", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for i, tt := range []struct {
			swapped bool // else the stage failed after the colour was deployed
			want    string
		}{{true, "0"}, {false, "0 1"}, {false, "0 1 2"}, {false, "0 2 3"}, {false, "0 3 4"}, {true, "0 4 5"}, {true, "5 6"}} {
			p := s.step(lane.OpBlueGreen, all("nginx:1")+fixedYAML(fmt.Sprint("of-", i), "1"))
			p.Pruning = true
			s.succeed(t, p)
			if tt.swapped {
				s.succeed(t, in(p, lane.OpSwap))
			}
			var want []string
			for _, n := range strings.Fields(tt.want) {
				want = append(want, "ConfigMap/of-"+n)
			}
			want = append(want, "Deployment/app-blue", "Deployment/app-green", "Service/web", "Service/web-stage")
			if i == 0 {
				want = slices.DeleteFunc(want, func(o string) bool { return o == "Deployment/app-green" })
			}
			if diff := cmp.Diff(want, s.names(t)); diff != "" {
				t.Errorf("after deployment %d (-want +got):\n%s", i, diff)
			}
		}
	})
	t.Run("kubernetes §14.2 a primary service without a colour", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpRolling, all("nginx:1")))
		s.fail(t, s.step(lane.OpBlueGreen, all("nginx:2")), "service web", labelColor)
		if diff := cmp.Diff([]string{"Deployment/app", "Service/web"}, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §14.2 a stage workload of another selector is made anew", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		s.succeed(t, s.step(lane.OpBlueGreen, all("nginx:1")))
		s.succeed(t, s.step(lane.OpBlueGreen, strings.ReplaceAll(all("nginx:2"), "app: app", "app: site")))
		if d := s.deployment(t, "app-blue"); d.Spec.Selector.MatchLabels["app"] != "site" {
			t.Errorf("the stage workload selects %v", d.Spec.Selector.MatchLabels)
		}
	})
	t.Run("kubernetes §14.3 a swap without a deployment", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpSwap, "")
		s.fail(t, p, "no blue-green deployment")
		p.Work.Rollback = true
		s.succeed(t, p)
	})
	t.Run("kubernetes §8 a declarative green has ConfigMaps of its own", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		for range 2 {
			p := s.step(lane.OpBlueGreen, configYAML("cfg", "1")+configuredWith("nginx:1")+serviceYAML("web", "web"))
			p.Target.Manifest.Declarative = true
			s.succeed(t, p)
			s.succeed(t, in(p, lane.OpSwap))
		}
		want := []string{"ConfigMap/cfg", "ConfigMap/cfg-green", "Deployment/web-blue", "Deployment/web-green", "Secret/keys", "Secret/keys-green", "Service/web", "Service/web-stage"}
		if diff := cmp.Diff(want, s.names(t)); diff != "" {
			t.Errorf("what is there (-want +got):\n%s", diff)
		}
	})
	t.Run("kubernetes §14.1 annotated services", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		note := func(service, key string) string {
			return strings.Replace(service, "}\nspec", ", annotations: {"+key+": true}}\nspec", 1)
		}
		p := s.step(lane.OpBlueGreen, deploymentYAML("app", "nginx:1", 1)+note(serviceYAML("web-stage", "app"), annotationStageService)+
			note(serviceYAML("web", "app"), annotationPrimaryService)+note(serviceYAML("plain", "app"), annotationDirectApply))
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
		if got := s.colors(t); got != "blue/green" {
			t.Errorf("the services point to %s", got)
		}
		plain, err := s.CoreV1().Services(s.namespace).Get(t.Context(), "plain", metav1.GetOptions{})
		if err != nil || plain.Spec.Selector[labelColor] != "" {
			t.Errorf("%v, %v", err, plain.Spec.Selector)
		}
	})
	t.Run("kubernetes §2 services of another namespace", func(t *testing.T) {
		t.Parallel()
		s, other := newSite(t), newSite(t)
		move := func(manifest string) string {
			return strings.ReplaceAll(strings.ReplaceAll(manifest, "{name: web}", "{name: web, namespace: "+other.namespace+"}"), "{name: app}\nspec", "{name: app, namespace: "+other.namespace+"}\nspec")
		}
		p := s.step(lane.OpBlueGreen, move(all("nginx:1")))
		s.succeed(t, p)
		s.succeed(t, in(p, lane.OpSwap))
		if got := other.colors(t); got != "blue/green" || len(s.names(t)) != 0 {
			t.Errorf("the services point to %s; here is %v", got, s.names(t))
		}
	})
	t.Run("kubernetes §14.3 a swap that ended half way", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpBlueGreen, all("nginx:1"))
		s.succeed(t, p)
		patch := `{"spec":{"selector":{"harness.io/color":"blue"}}}`
		_, err := s.CoreV1().Services(s.namespace).Patch(t.Context(), "web", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		check(t, err)
		s.succeed(t, in(p, lane.OpSwap))
		if got := s.colors(t); got != "blue/green" {
			t.Errorf("the services point to %s", got)
		}
	})
	t.Run("kubernetes §14.3 a service that is gone", func(t *testing.T) {
		t.Parallel()
		s := newSite(t)
		p := s.step(lane.OpBlueGreen, all("nginx:1"))
		s.succeed(t, p)
		check(t, s.CoreV1().Services(s.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}))
		s.fail(t, in(p, lane.OpSwap), `services "web" not found`)
		back := in(p, lane.OpSwap)
		back.Work.Rollback = true
		s.succeed(t, back)
	})
}
