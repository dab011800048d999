package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// What follows from something that is refused isn't told beside it: whoever
// mends the cause writes another document anyway.

// legacy says whether a Deployment stage is written in the form that Harness
// had before services and environments were documents.
func legacy(spec *yamldoc.Node) bool {
	return !document.Neutral(spec.Get("serviceConfig")) || !document.Neutral(spec.Get("infrastructure"))
}

// gitOps says whether a Deployment stage leaves the deployment to GitOps agents.
func gitOps(spec *yamldoc.Node) bool {
	on := spec.Get("gitOpsEnabled")
	return on != nil && strings.EqualFold(on.Value, "true")
}

// builds says whether one of some stages is a CI stage.
func builds(stages *yamldoc.Node) bool {
	return stages != nil && slices.ContainsFunc(stages.Items, func(item *yamldoc.Node) bool {
		typ := item.At("stage", "type")
		return typ != nil && typ.Value == stageCI || builds(item.Get("parallel"))
	})
}

// ofRefused says whether a step type is one of the steps of its stage's
// deployment type, which is refused.
func (p place) ofRefused(step string) bool {
	return slices.ContainsFunc(laneSteps(p.deployment), func(prefix string) bool { return strings.HasPrefix(step, prefix) })
}

// laneSteps are what the names of the steps begin with that only deployments of
// one type have.
func laneSteps(deployment string) []string {
	switch deployment {
	case "GoogleCloudRun", "AzureContainerApps", "Salesforce":
		return []string{deployment}
	case "AzureWebApp", "AzureFunction":
		return []string{"Azure"}
	case "GoogleCloudFunctions":
		return []string{"DeployCloudFunction", "CloudFunction", "RollbackCloudFunction"}
	case "GoogleManagedInstanceGroup":
		return []string{"GoogleMig"}
	case "Ssh", "WinRm":
		return []string{"Command"}
	case "TAS":
		return []string{
			"Tas", "TanzuCommand", "AppResize", "AppRollback", "BGAppSetup", "BasicAppSetup", "CanaryAppSetup", "RouteMapping", "SwapRo",
		}
	}
	return nil
}
