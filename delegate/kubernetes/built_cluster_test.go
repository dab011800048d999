package kubernetes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// semantics/kubernetes §4.3: a chart is rendered and applied like plain
// manifests, semantics/kubernetes §23.1 included.
func TestChartAsManifests(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g := repository(t, map[string]string{
		"chart/Chart.yaml":            "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"chart/values.yaml":           "image: nginx:1\n",
		"chart/templates/web.yaml":    deploymentYAML("web", "{{ .Values.image }}", 1) + configYAML("cfg", "{{ .Release.Name }}"),
		"chart/templates/job.yaml":    skipDirective + "\n" + jobYAML("once", "ok"),
		"chart/templates/test.yaml":   "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n",
		"chart/templates/second.yaml": skipDirective + "\n" + fixedYAML("second", "1"),
	})
	g.Paths = []string{"chart"}
	p := s.step(lane.OpRolling, "")
	p.Target.Manifest = &origin.Manifest{ID: "app", Type: "HelmChart", Store: task.Store{Git: g}, Chart: &origin.Chart{}}
	p.Target.Values = []origin.ValuesFile{{ID: "over", Store: task.Store{Inline: "image: nginx:<+kubernetes.release.revision>"}}}
	s.succeed(t, p)
	if diff := cmp.Diff([]string{"ConfigMap/cfg-1", "Deployment/web"}, s.names(t)); diff != "" || s.image(t, "web") != "nginx:1" {
		t.Errorf("runs %s (-want +got):\n%s", s.image(t, "web"), diff)
	}
	apply := in(p, lane.OpApply)
	apply.FilePaths = []string{"templates/job.yaml"}
	s.succeed(t, apply)
	if !contains(s.names(t), "Job/once") || contains(s.names(t), "ConfigMap/second") {
		t.Errorf("K8sApply of one template left %v", s.names(t))
	}
	apply.SkipRendering = true
	s.fail(t, apply, "skipRendering")
}

// semantics/kubernetes §4.4: what Kustomize builds is deployed, with patches
// whose expressions are resolved.
func TestKustomization(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	g := repository(t, map[string]string{
		"app/base/kustomization.yaml": "resources: [web.yaml]\n",
		"app/base/web.yaml":           deploymentYAML("web", "nginx:1", 1),
		"app/over/kustomization.yaml": "resources: [../base]\nnameSuffix: -x\n",
		"app/job/kustomization.yaml":  "resources: [job.yaml]\n",
		"app/job/job.yaml":            jobYAML("once", "ok"),
	})
	g.Paths = []string{"app"}
	p := s.step(lane.OpRolling, "")
	p.Target.Manifest = &origin.Manifest{ID: "app", Type: "Kustomize", Store: task.Store{Git: g}, Kustomize: &origin.Kustomize{Overlay: "over"}}
	p.Target.Patches = []origin.ValuesFile{{ID: "p", Store: task.Store{Inline: "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: [{name: main, image: \"nginx:4<+kubernetes.release.revision>\"}]}}}\n"}}}
	s.succeed(t, p)
	if got := s.image(t, "web-x"); got != "nginx:41" {
		t.Errorf("runs %s", got)
	}
	apply := in(p, lane.OpApply)
	apply.Target.Patches = nil
	apply.FilePaths = []string{"app/job"}
	s.succeed(t, apply)
	if diff := cmp.Diff([]string{"Deployment/web-x", "Job/once"}, s.names(t)); diff != "" {
		t.Errorf("after K8sApply of another folder (-want +got):\n%s", diff)
	}
}

// semantics/entities §2.4: manifests that a script brings, with values in its
// folder and a layer that inherits from it.
func TestManifestsFromAScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.step(lane.OpRolling, "")
	script := "mkdir app && cat > app/web.yaml <<'END'\n" + deploymentYAML("web", "{{ .Values.image }}", 1) + "\nEND\necho 'image: nginx:1' > app/values.yaml\necho 'image: nginx:4' > prod.yaml\n"
	p.Target.Manifest = &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Script: &task.Extraction{Script: script, Path: "app"}}}
	s.succeed(t, p)
	if got := s.image(t, "web"); got != "nginx:1" {
		t.Errorf("runs %s", got)
	}
	next := s.step(lane.OpRolling, "")
	next.Target.Manifest = p.Target.Manifest
	next.Target.Values = []origin.ValuesFile{{ID: "prod", Store: task.Store{Inherited: []string{"prod.yaml"}}}}
	s.succeed(t, next)
	if got := s.image(t, "web"); got != "nginx:4" {
		t.Errorf("with inherited values it runs %s", got)
	}
	broken := s.step(lane.OpRolling, "")
	broken.Target.Manifest = &origin.Manifest{ID: "app", Type: "K8sManifest", Store: task.Store{Script: &task.Extraction{Script: "exit 7", Path: "app"}}}
	s.fail(t, broken, "exit code 7")
}
