// Package builtin lists what comes with Slipway: the deployment types, each a
// package of its own below pkg/swimlane, the connector types, whose families are
// below pkg/connector, and the step types, which are those of the deployment
// types, those of provisioners below pkg/provisioner and those below pkg/step. It
// decides nothing about them.
package builtin

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/connector/cloud"
	"github.com/slipway-cd/slipway/pkg/connector/cluster"
	"github.com/slipway-cd/slipway/pkg/connector/git"
	"github.com/slipway-cd/slipway/pkg/connector/registry"
	"github.com/slipway-cd/slipway/pkg/connector/secretmanager"
	"github.com/slipway-cd/slipway/pkg/connector/server"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/background"
	"github.com/slipway-cd/slipway/pkg/step/bamboobuild"
	"github.com/slipway-cd/slipway/pkg/step/barrier"
	"github.com/slipway-cd/slipway/pkg/step/chart"
	"github.com/slipway-cd/slipway/pkg/step/customapproval"
	"github.com/slipway-cd/slipway/pkg/step/downloadawss3"
	"github.com/slipway-cd/slipway/pkg/step/downloadmanifests"
	"github.com/slipway-cd/slipway/pkg/step/email"
	"github.com/slipway-cd/slipway/pkg/step/eventlistener"
	"github.com/slipway-cd/slipway/pkg/step/gitclone"
	"github.com/slipway-cd/slipway/pkg/step/harnessapproval"
	"github.com/slipway-cd/slipway/pkg/step/http"
	"github.com/slipway-cd/slipway/pkg/step/initialize"
	"github.com/slipway-cd/slipway/pkg/step/jenkinsbuild"
	"github.com/slipway-cd/slipway/pkg/step/jiraapproval"
	"github.com/slipway-cd/slipway/pkg/step/jiracreate"
	"github.com/slipway-cd/slipway/pkg/step/jiraupdate"
	"github.com/slipway-cd/slipway/pkg/step/policy"
	"github.com/slipway-cd/slipway/pkg/step/probe"
	"github.com/slipway-cd/slipway/pkg/step/queue"
	"github.com/slipway-cd/slipway/pkg/step/service"
	"github.com/slipway-cd/slipway/pkg/step/servicenowapproval"
	"github.com/slipway-cd/slipway/pkg/step/servicenowcreate"
	"github.com/slipway-cd/slipway/pkg/step/servicenowimportset"
	"github.com/slipway-cd/slipway/pkg/step/servicenowupdate"
	"github.com/slipway-cd/slipway/pkg/step/shellscript"
	"github.com/slipway-cd/slipway/pkg/step/wait"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/asg"
	"github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
	"github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
	"github.com/slipway-cd/slipway/pkg/swimlane/elastigroup"
	"github.com/slipway-cd/slipway/pkg/swimlane/gitops"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
)

// lane is a deployment type with the step types of its stages.
type lane struct {
	swimlane.Lane
	steps []step.Type
}

func lanes() []lane {
	return []lane{
		{kubernetes.Lane(), kubernetes.Steps()},
		{nativehelm.Lane(), nativehelm.Steps()},
		{custom.Lane(), custom.Steps()},
		{awslambda.Lane(), awslambda.Steps()},
		{asg.Lane(), asg.Steps()},
		{ecs.Lane(), ecs.Steps()},
		{awssam.Lane(), awssam.Steps()},
		{elastigroup.Lane(), elastigroup.Steps()},
		{serverless.Lane(), serverless.Steps()},
		{gitops.Lane(), gitops.Steps()},
	}
}

// Lanes lists the deployment types.
func Lanes() swimlane.Lanes {
	var all swimlane.Lanes
	for _, l := range lanes() {
		all = append(all, l.Lane)
	}
	return all
}

// Types lists what documents may be of: the deployment types, the connector
// types and the artifact sources.
func Types() entity.Types {
	return entity.Types{
		Lanes: Lanes(), Connectors: Connectors(), Artifacts: artifact.All(),
		Provisioners: slices.Concat(cloudformation.Kinds(), awscdk.Kinds()), Workspaces: workspace.Kinds(),
	}
}

// Connectors lists the connector types.
func Connectors() connector.Types {
	return slices.Concat(
		[]connector.Type{cluster.Kubernetes(), registry.Images()},
		cloud.Types(),
		[]connector.Type{cluster.Servers()},
		secretmanager.Types(),
		git.Types(),
		server.Types(),
		registry.Charts(),
	)
}

// Steps lists every step type.
func Steps() step.Types {
	all := step.Types{
		background.Type(),
		barrier.Type(),
		customapproval.Type(),
		downloadawss3.Type(),
		downloadmanifests.Type(),
		email.Type(),
		eventlistener.Type(),
		gitclone.Type(),
		harnessapproval.Type(),
		http.Type(),
		bamboobuild.Type(),
		jenkinsbuild.Type(),
		jiraapproval.Type(),
		jiracreate.Type(),
		jiraupdate.Type(),
		policy.Type(),
		queue.Type(),
		servicenowapproval.Type(),
		servicenowcreate.Type(),
		servicenowimportset.Type(),
		servicenowupdate.Type(),
		shellscript.Type(),
		wait.Type(),
	}
	for _, l := range lanes() {
		all = append(all, l.steps...)
	}
	return slices.Concat(all, cloudformation.Steps(), awscdk.Steps())
}

// Engine lists what the engine runs: besides the types that a pipeline may
// name those that plans add by themselves.
func Engine() []step.Type {
	own := []step.Type{service.Type(), chart.Type(), initialize.Type(), probe.Type(), awslambda.Diff(), awssam.Diff(), serverless.Diff(), cloudformation.Diff(), awscdk.Diff()}
	return slices.Concat(Steps(), own, asg.Diffs(), ecs.Diffs(), elastigroup.Diffs())
}

// Options say what a document of a scope is checked against: all that comes with
// Slipway.
func Options(scope ref.Scope) entity.Options {
	return entity.Options{Scope: scope, Steps: Steps(), Types: Types()}
}
