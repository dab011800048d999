package e2e_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testcluster"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// The utility steps through whole pipelines: what is scaled, applied and
// deleted is what the cluster then has (semantics/kubernetes §15).
func TestUtilityStepsChangeTheCluster(t *testing.T) {
	t.Parallel()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	guestbook(t, s, namespace)
	roll, back := kubeStep("roll", "K8sRollingDeploy", "{pruningEnabled: true}"), kubeStep("back", "K8sRollingRollback", "{}")
	three := kubeStep("three", "K8sScale", "{workload: Deployment/web, instanceSelection: {type: Count, spec: {count: 3}}}")
	half := kubeStep("half", "K8sScale", "{workload: "+namespace+"/Deployment/web, instanceSelection: {type: Percentage, spec: {percentage: 50}}}")
	s.Apply(t, deployment("scaled", roll+three+half, back))
	s.Apply(t, deployment("applied", kubeStep("apply", "K8sApply", "{filePaths: [app.yaml]}"), back))
	s.Apply(t, deployment("removed", kubeStep("delete", "K8sDelete", "{deleteResources: {type: ReleaseName, spec: {deleteNamespace: false}}}"), back))
	has := func() string {
		return strings.Join(strings.Fields(kubectl(t, kubeconfig, namespace, "get", "deployment,service,configmap",
			"--field-selector", "metadata.name!=kube-root-ca.crt", "-o", "name")), " ")
	}

	run(t, s, "scaled", "Success", image("1"))
	if diff := cmp.Diff("nginx:1 settings-1 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("half of three (-want +got):\n%s", diff)
	}
	run(t, s, "applied", "Success", image("2"))
	if diff := cmp.Diff("nginx:2 settings 2", serving(t, kubeconfig, namespace, "web")); diff != "" {
		t.Errorf("after K8sApply (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("deployment.apps/web service/web configmap/settings configmap/settings-1", has()); diff != "" {
		t.Errorf("before K8sDelete (-want +got):\n%s", diff)
	}
	run(t, s, "removed", "Success", image("2"))
	// What K8sApply made belongs to no release.
	if diff := cmp.Diff("configmap/settings", has()); diff != "" {
		t.Errorf("after K8sDelete (-want +got):\n%s", diff)
	}
	if got := kubectl(t, kubeconfig, namespace, "get", "secret,pod", "-o", "name"); got != "" {
		t.Errorf("still there:\n%s", got)
	}
}

// The steps that look at the cluster or change what is there, through a whole
// pipeline: their outputs are read by later steps (semantics/kubernetes §15).
func TestStepsThatLookAndPatch(t *testing.T) {
	t.Parallel()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	guestbook(t, s, namespace)
	script := func(id, text string) string {
		return kubeStep(id, "ShellScript", "{shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: '"+text+"'}}}")
	}
	steps := []string{
		kubeStep("dry", "K8sDryRun", "{}"),
		kubeStep("first", "K8sDiff", "{}"),
		script("rendered", `test "<+execution.steps.first.output.hasChanges>" = true && grep -q "image: nginx:1" <<< "<+execution.steps.dry.k8s.ManifestDryRun>"`),
		kubeStep("roll", "K8sRollingDeploy", "{}"),
		kubeStep("patch", "K8sPatch", "{workload: Deployment/web, mergeStrategyType: Strategic, recordChangeCause: true, source: {type: Inline, spec: {content: 'spec: {minReadySeconds: 1}'}}}"),
		kubeStep("second", "K8sRollout", "{command: restart, resources: {type: ReleaseName}}"),
		kubeStep("more", "K8sApply", "{manifestSource: {type: K8sManifest, spec: {store: {type: Inline, spec: {content: '{apiVersion: v1, kind: ConfigMap, metadata: {name: more}, data: {x: {{ .Values.x | quote }}}}'}}}}, "+
			"overrides: [{manifest: {identifier: o, type: Values, spec: {store: {type: Inline, spec: {content: 'x: <+pipeline.variables.image>'}}}}}]}"),
	}
	s.Apply(t, deployment("looks", strings.Join(steps, ""), kubeStep("back", "K8sRollingRollback", "{}")))
	run(t, s, "looks", "Success", image("1"))
	got := kubectl(t, kubeconfig, namespace, "get", "deployment", "web", "-o", "jsonpath={.spec.minReadySeconds} {.metadata.annotations.deployment\\.kubernetes\\.io/revision} {.metadata.annotations.kubernetes\\.io/change-cause}")
	if diff := cmp.Diff(`1 2 K8sPatch Strategic of Deployment/web: {"spec":{"minReadySeconds":1}}`, got); diff != "" {
		t.Errorf("after the patch and the restart (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("nginx:1", kubectl(t, kubeconfig, namespace, "get", "configmap", "more", "-o", "jsonpath={.data.x}")); diff != "" {
		t.Errorf("manifests of the step's own (-want +got):\n%s", diff)
	}
}

// A step whose time is up says what was still missing, not only that.
func TestAnExpiredStepSaysWhatWasMissing(t *testing.T) {
	t.Parallel()
	_, namespace := testcluster.Namespace(t)
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	guestbook(t, s, namespace)
	patch := "{spec: {progressDeadlineSeconds: 600, template: {spec: {containers: [{name: web, image: broken:1}]}}}}"
	slow := strings.Replace(kubeStep("patch", "K8sPatch", "{workload: Deployment/web, mergeStrategyType: Merge, source: {type: Inline, spec: {content: '"+patch+"'}}}"), "timeout: 1m", "timeout: 10s", 1)
	s.Apply(t, deployment("slow", kubeStep("roll", "K8sRollingDeploy", "{}")+slow, kubeStep("back", "K8sRollingRollback", "{}")))
	e := s.Run(t, "slow", image("1"))
	step := e.Root.Find("patch")
	if step.Status != "Expired" || !strings.Contains(step.Message, "can't get its image broken:1") || !strings.Contains(step.Message, "Deployment/web isn't steady yet") {
		t.Errorf("the step ended %s: %s", step.Status, step.Message)
	}
}

// Phases of a progressive canary are steps of one stage, perhaps in groups;
// one that fails is rolled back to what served (semantics/kubernetes §13.4).
func TestProgressiveCanaryThroughAPipeline(t *testing.T) {
	t.Parallel()
	kubeconfig, namespace := testcluster.Namespace(t)
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}})
	guestbook(t, s, namespace)
	phase := func(id string, percent string) string {
		return "- stepGroup: {identifier: g" + id + ", name: g" + id + ", steps: [{step: {identifier: " + id + ", name: " + id +
			", type: K8sCanaryDeploy, timeout: 1m, spec: {canaryType: Progressive, targetPercentage: " + percent + "}}}]}\n"
	}
	back := kubeStep("back", "K8sProgressiveCanaryRollback", "{}")
	s.Apply(t, deployment("rolling", kubeStep("roll", "K8sRollingDeploy", "{}"), kubeStep("undo", "K8sRollingRollback", "{}")))
	s.Apply(t, deployment("phases", phase("half", "50")+phase("all", "100"), back))
	s.Apply(t, deployment("stuck", phase("half", "50")+kubeStep("no", "ShellScript", "{shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: exit 1}}}"), back))

	run(t, s, "rolling", "Success", image("1"))
	run(t, s, "phases", "Success", image("2"))
	if diff := cmp.Diff("nginx:2 settings-v2 2", serving(t, kubeconfig, namespace, "web-v2")); diff != "" {
		t.Errorf("after all phases (-want +got):\n%s", diff)
	}
	run(t, s, "stuck", "Failed", image("3"))
	if diff := cmp.Diff("nginx:2 settings-v2 2", serving(t, kubeconfig, namespace, "web-v2")); diff != "" {
		t.Errorf("after the rollback (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("deployment.apps/web-v2\n", kubectl(t, kubeconfig, namespace, "get", "deployment", "-o", "name")); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
}
