// Package builtin lists the step types that come with Slipway. It decides
// nothing about them: each is a package of its own below pkg/step.
package builtin

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/bamboobuild"
	"github.com/slipway-cd/slipway/pkg/step/barrier"
	"github.com/slipway-cd/slipway/pkg/step/chart"
	"github.com/slipway-cd/slipway/pkg/step/customapproval"
	"github.com/slipway-cd/slipway/pkg/step/email"
	"github.com/slipway-cd/slipway/pkg/step/eventlistener"
	"github.com/slipway-cd/slipway/pkg/step/fetchinstancescript"
	"github.com/slipway-cd/slipway/pkg/step/harnessapproval"
	"github.com/slipway-cd/slipway/pkg/step/helmbgdeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmbluegreenswapstep"
	"github.com/slipway-cd/slipway/pkg/step/helmcanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/helmcanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmdelete"
	"github.com/slipway-cd/slipway/pkg/step/helmdeploy"
	"github.com/slipway-cd/slipway/pkg/step/helmrollback"
	"github.com/slipway-cd/slipway/pkg/step/http"
	"github.com/slipway-cd/slipway/pkg/step/jenkinsbuild"
	"github.com/slipway-cd/slipway/pkg/step/jiraapproval"
	"github.com/slipway-cd/slipway/pkg/step/jiracreate"
	"github.com/slipway-cd/slipway/pkg/step/jiraupdate"
	"github.com/slipway-cd/slipway/pkg/step/k8sapply"
	"github.com/slipway-cd/slipway/pkg/step/k8sbgswapservices"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreendeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaledown"
	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaleup"
	"github.com/slipway-cd/slipway/pkg/step/k8scanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/k8scanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8sdelete"
	"github.com/slipway-cd/slipway/pkg/step/k8sdiff"
	"github.com/slipway-cd/slipway/pkg/step/k8sdryrun"
	"github.com/slipway-cd/slipway/pkg/step/k8spatch"
	"github.com/slipway-cd/slipway/pkg/step/k8sprogressivecanaryrollback"
	"github.com/slipway-cd/slipway/pkg/step/k8srollingdeploy"
	"github.com/slipway-cd/slipway/pkg/step/k8srollingrollback"
	"github.com/slipway-cd/slipway/pkg/step/k8srollout"
	"github.com/slipway-cd/slipway/pkg/step/k8sscale"
	"github.com/slipway-cd/slipway/pkg/step/k8strafficrouting"
	"github.com/slipway-cd/slipway/pkg/step/probe"
	"github.com/slipway-cd/slipway/pkg/step/queue"
	"github.com/slipway-cd/slipway/pkg/step/service"
	"github.com/slipway-cd/slipway/pkg/step/servicenowapproval"
	"github.com/slipway-cd/slipway/pkg/step/servicenowcreate"
	"github.com/slipway-cd/slipway/pkg/step/servicenowimportset"
	"github.com/slipway-cd/slipway/pkg/step/servicenowupdate"
	"github.com/slipway-cd/slipway/pkg/step/shellscript"
	"github.com/slipway-cd/slipway/pkg/step/wait"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Steps lists every step type.
func Steps() []step.Type {
	return []step.Type{
		barrier.Type(),
		customapproval.Type(),
		email.Type(),
		eventlistener.Type(),
		fetchinstancescript.Type(),
		harnessapproval.Type(),
		helmbgdeploy.Type(),
		helmbluegreenswapstep.Type(),
		helmcanarydelete.Type(),
		helmcanarydeploy.Type(),
		helmdelete.Type(),
		helmdeploy.Type(),
		helmrollback.Type(),
		http.Type(),
		bamboobuild.Type(),
		jenkinsbuild.Type(),
		jiraapproval.Type(),
		jiracreate.Type(),
		jiraupdate.Type(),
		k8sapply.Type(),
		k8sbgswapservices.Type(),
		k8sbluegreendeploy.Type(),
		k8sbluegreenstagescaledown.Type(),
		k8sbluegreenstagescaleup.Type(),
		k8scanarydelete.Type(),
		k8scanarydeploy.Type(),
		k8sdelete.Type(),
		k8sdiff.Type(),
		k8sdryrun.Type(),
		k8spatch.Type(),
		k8sprogressivecanaryrollback.Type(),
		k8srollingdeploy.Type(),
		k8srollingrollback.Type(),
		k8srollout.Type(),
		k8sscale.Type(),
		k8strafficrouting.Type(),
		queue.Type(),
		servicenowapproval.Type(),
		servicenowcreate.Type(),
		servicenowimportset.Type(),
		servicenowupdate.Type(),
		shellscript.Type(),
		wait.Type(),
	}
}

// Engine lists what the engine runs: besides the types that a pipeline may
// name those that plans add by themselves.
func Engine() []step.Type { return append(Steps(), service.Type(), chart.Type(), probe.Type()) }

// Names lists the names of the step types, sorted.
func Names() []string {
	var names []string
	for _, t := range Steps() {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names
}

// Check checks a step's spec when its pipeline is saved; false if there is no
// such type. stageType is the type of the stage that the step is in, empty if
// it isn't known. Paths in the report begin below the spec (see
// yamldoc.Report.Within). It fits entity.Options.CheckStep.
func Check(typeName string, spec *yamldoc.Node, stageType string, r *yamldoc.Report) bool {
	steps := Steps()
	i := slices.IndexFunc(steps, func(t step.Type) bool { return t.Name == typeName })
	if i < 0 {
		return false
	}
	t := steps[i]
	if t.Deploys && stageType != "" && stageType != "Deployment" {
		r.Errorf(yamldoc.Sub(spec, ""), "WRONG_STAGE", "found a %s step in a stage of type %s; it needs a Deployment stage", t.Name, stageType)
	}
	t.Decode(spec, r)
	return true
}
