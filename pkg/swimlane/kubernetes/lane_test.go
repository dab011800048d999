package kubernetes_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

const rollingBack, rollingOut = "K8sRollingRollback", "K8sRollingDeploy"

func config() swimlanetest.Config {
	return swimlanetest.Config{
		Service: "{manifests: [{manifest: {identifier: m, type: K8sManifest, spec: {store: {type: Inline, spec: {content: x}}}}}]}",
		Infrastructures: map[string]string{
			"KubernetesDirect":  "{connectorRef: c, namespace: n, releaseName: r}",
			"KubernetesAws":     "{connectorRef: c, cluster: eu-central-1/web, namespace: n, releaseName: r}",
			"KubernetesGcp":     "{connectorRef: c, cluster: europe-west3-a/web, namespace: n, releaseName: r}",
			"KubernetesAzure":   "{connectorRef: c, subscriptionId: s, resourceGroup: g, cluster: web, namespace: n, releaseName: r, useClusterAdminCredentials: false}",
			"KubernetesRancher": "{connectorRef: c, cluster: web, namespace: n, releaseName: r}",
		},
		// A release's name isn't a place: INFRA_KEY makes the name (semantics/entities §4).
		NotPlace: []string{"releaseName", "useClusterAdminCredentials"},
	}
}

func TestLane(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Others = swimlane.Lanes{nativehelm.Lane(), custom.Lane()}
	cfg.Undo = map[string]string{
		rollingOut: rollingBack, "K8sCanaryDeploy": "K8sCanaryDelete", "K8sBlueGreenDeploy": "K8sBGSwapServices",
		"K8sProgressiveCanaryRollback": "",
		// They change what is there by hand, as kubectl does.
		"K8sApply": "", "K8sDelete": "", "K8sPatch": "", "K8sRollout": "", "K8sScale": "K8sScale", "K8sTrafficRouting": "",
		// They change nothing that serves.
		"K8sDiff": "", "K8sDryRun": "", "K8sBlueGreenStageScaleDown": "K8sBlueGreenStageScaleUp",
	}
	swimlanetest.Run(t, kubernetes.Lane(), kubernetes.Steps(), cfg)
}

func TestNativeHelmLane(t *testing.T) {
	t.Parallel()
	cfg := config()
	cfg.Others = swimlane.Lanes{kubernetes.Lane(), custom.Lane()}
	cfg.Undo = map[string]string{
		"HelmDeploy": "HelmRollback", "HelmBGDeploy": "HelmBlueGreenSwapStep", "HelmCanaryDeploy": "HelmCanaryDelete", "HelmDelete": "",
	}
	swimlanetest.Run(t, nativehelm.Lane(), nativehelm.Steps(), cfg)
}
