package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The deployment types of the Kubernetes swimlane.
const (
	DeployKubernetes = "Kubernetes"
	DeployNativeHelm = "NativeHelm"
)

// otherDeploymentTypes are those of the other swimlanes
// (semantics/entities §2).
func otherDeploymentTypes() []string {
	return []string{
		"Ssh", "WinRm", "ServerlessAwsLambda", "AzureWebApp", "AzureFunction", "ECS", "Elastigroup", "TAS",
		"Asg", "GoogleCloudFunctions", "AwsLambda", "AWS_SAM", "GoogleCloudRun", "AzureContainerApps", "Salesforce",
		"GoogleManagedInstanceGroup", "AiAgent",
	}
}

// deploymentType binds the deployment type of a stage, a service or an
// infrastructure definition.
func (d *decoder) deploymentType(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return d.Supported(f, "deployment type", []string{DeployKubernetes, DeployNativeHelm, DeployCustom}, otherDeploymentTypes()...)
}

// Deployment is what a Deployment stage deploys where (semantics/entities §5).
// It has one of Service and Services, and one of Environment, Environments and
// Group.
type Deployment struct {
	Type         yamldoc.Field[string]
	CustomRef    TemplateRef // of a custom deployment
	Service      StageService
	Services     StageServices
	Environment  StageEnvironment
	Environments StageEnvironments
	Group        StageGroup
	Multi        MultiDeployment
}

// MultiDeployment says how the deployments of a stage with several go on.
type MultiDeployment struct {
	MaxConcurrency yamldoc.Field[int]
	OnFailure      yamldoc.Field[string] // RunAll or SkipQueued
	When           yamldoc.Field[string]
}

// deployment are the keys of a Deployment stage's spec besides those of any.
func (d *decoder) deployment(s *Deployment, p place) document.Keys {
	gitOps := p.gitOps
	return document.Keys{
		"deploymentType":        d.deploymentType(&s.Type),
		"service":               func(v yamldoc.Value) { d.stageService(v, &s.Service) },
		"environment":           func(v yamldoc.Value) { d.stageEnvironment(v, &s.Environment, around{gitOps: gitOps}) },
		"services":              func(v yamldoc.Value) { d.stageServices(v, &s.Services) },
		"environments":          func(v yamldoc.Value) { d.stageEnvironments(v, &s.Environments, gitOps) },
		"environmentGroup":      func(v yamldoc.Value) { d.stageGroup(v, &s.Group, gitOps) },
		"multiDeploymentConfig": func(v yamldoc.Value) { d.multiDeployment(v, &s.Multi) },
		"serviceConfig":         d.Never("the legacy form of a service (serviceConfig) isn't read; slipway convert rewrites it"),
		"infrastructure":        d.Never("the legacy form of an infrastructure isn't read; slipway convert rewrites it"),
		"gitOpsEnabled":         d.Refuse("GitOps deployments aren't supported"),
		"customDeploymentRef":   d.customOnly(p.deployment, &s.CustomRef),
		"deploymentMetadata":    d.Never("deployment metadata says more of deployment types that aren't supported"),
	}
}

func (d *decoder) multiDeployment(v yamldoc.Value, m *MultiDeployment) {
	d.Fields(v, document.Keys{
		"maxConcurrency": d.Count(&m.MaxConcurrency),
		"onFailure":      d.Literal(&m.OnFailure, "RunAll", "SkipQueued"),
		"when":           d.Condition(&m.When),
	})
}

// Several says whether a Deployment stage's spec is written so that it may
// have several deployments (semantics/entities §5.2). Such a stage is repeated
// for each, be it one.
func Several(spec *yamldoc.Node) bool {
	environment := spec.Get("environment")
	list := environment.Get("infrastructureDefinitions")
	return spec.Get("services") != nil || spec.Get("environments") != nil || spec.Get("environmentGroup") != nil ||
		!document.Neutral(environment.Get("deployToAll")) || !document.Neutral(environment.Get("filters")) || list != nil && len(list.Items) > 1
}

// onceOnly refuses a looping strategy of a stage that has several deployments:
// both would repeat it, and nobody documents which is around the other, what
// their iterations are called, or whose <+matrix...> is read.
func (d *decoder) onceOnly(v yamldoc.Value) {
	if Several(v.Node.Get("spec")) && !document.Neutral(v.Node.Get("strategy")) {
		d.Unsupported(document.Child(v, "strategy"), "this stage is repeated already, for each of its services and infrastructures, and how a looping strategy would go with that isn't documented; take the lists out and name what the matrix has (serviceRef: <+matrix.service>), or take the strategy out")
	}
}
