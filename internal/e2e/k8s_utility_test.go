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
// deleted is what the cluster then has (kubernetes spec §15).
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
