package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deploymentTypes are all that Harness has (semantics/entities §2).
func deploymentTypes() []string {
	return []string{
		"Kubernetes", "NativeHelm", deployCustom, "Ssh", "WinRm", "ServerlessAwsLambda", "AzureWebApp", "AzureFunction", "ECS",
		"Elastigroup", "TAS", "Asg", "GoogleCloudFunctions", "AwsLambda", "AWS_SAM", "GoogleCloudRun", "AzureContainerApps",
		"Salesforce", "GoogleManagedInstanceGroup", "AiAgent",
	}
}

// without are the words of a list that aren't in another.
func without(all, some []string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return slices.Contains(some, s) })
}

// otherDeploymentTypes are those that no lane is there for.
func (d *decoder) otherDeploymentTypes() []string {
	return without(deploymentTypes(), d.options.Lanes.Types())
}

// deploymentType binds the deployment type of a stage, a service or an
// infrastructure definition.
func (d *decoder) deploymentType(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return d.Supported(f, "deployment type", d.options.Lanes.Types(), d.otherDeploymentTypes()...)
}

// lane is a decoder for what a deployment type's lane decodes.
func (d *decoder) lane(common document.Keys, variables *[]Variable, template *TemplateRef) *swimlane.Decoder {
	return &swimlane.Decoder{Decoder: d.Decoder, Common: common, Variables: d.variables(variables, variableConnector), Template: services{d}.customRef(template)}
}

// Deployment is what a Deployment stage deploys where (semantics/entities §5).
// It has one of Service and Services, and one of Environment, Environments and
// Group.
type Deployment struct {
	Type         yamldoc.Field[string]
	Several      bool        // see the function several
	GitOps       bool        // gitOpsEnabled: agents bring what is deployed
	CustomRef    TemplateRef // of a custom deployment
	Service      StageService
	Services     StageServices
	Environment  StageEnvironment
	Provisioner  Provisioner
	Environments StageEnvironments
	Group        StageGroup
	// Multi says how the deployments of a stage with several go on: its Doc,
	// MaxConcurrency, OnFailure and When are those of a strategy.
	Multi Looping
}

// Provisioner is the section of a stage whose steps make what it deploys to
// (semantics/pipeline §7.16).
type Provisioner struct {
	Steps         StepList
	RollbackSteps StepList
}

// section reads a provisioner section. What it makes is the one infrastructure of the
// stage.
func (d deployments) section(v yamldoc.Value, s *Provisioner, p place) {
	back := p
	p.provisions, p.section = true, document.Seen{}
	back.provisions, back.rollback, back.section, back.made = true, true, document.Seen{}, document.Seen{}
	d.Fields(v, document.Keys{
		"description":   document.Nothing,
		"steps":         func(v yamldoc.Value) { s.Steps = steps(d).steps(v, p, document.Seen{}) },
		"rollbackSteps": func(v yamldoc.Value) { s.RollbackSteps = steps(d).steps(v, back, document.Seen{}) },
	})
	d.Need(v, "steps")
}

// stageOf is the type of the stage that a step is in, as its type is told. What a
// deployment type's own steps can't do in a provisioner section is told by early.
func (d deployments) stageOf(step string, p place) string {
	if p.provisions && len(d.options.Lanes.Owners(step)) == 0 {
		return "provisioner, which has no service yet"
	}
	return p.stage
}

// early reports a step of a provisioner section that needs what the section
// is about to make.
func (d deployments) early(typ yamldoc.Value, name string, p place) {
	if p.provisions && len(d.options.Lanes.Owners(name)) > 0 {
		d.Errorf(typ, document.WrongValue, "%s works on the stage's service and infrastructure, which aren't there before the steps of its provisioner have ended; put it into execution", name)
	}
}

// madeAlone refuses a provisioner section of a stage that may deploy several
// services, or to several infrastructures.
func (d deployments) madeAlone(v yamldoc.Value) {
	section := v.Node.At("environment", "provisioner")
	if document.Neutral(section) || !several(v.Node) {
		return
	}
	at := document.Child(document.Child(v, "environment"), "provisioner")
	d.Errorf(at, document.WrongValue, "a stage whose steps make its infrastructure deploys one service to one infrastructure: want service, and an environment with a single infrastructure definition")
}

// deployment are the keys of a Deployment stage's spec besides those of any.
func (d deployments) deployment(s *Deployment, p place) document.Keys {
	gitOps := p.gitOps
	return document.Keys{
		"deploymentType": func(v yamldoc.Value) { pulled(d).stageType(v, &s.Type, gitOps) },
		"service":        func(v yamldoc.Value) { d.stageService(v, &s.Service) },
		"environment": func(v yamldoc.Value) {
			d.stageEnvironment(v, &s.Environment, around{gitOps: gitOps, made: func(v yamldoc.Value) { d.section(v, &s.Provisioner, p) }})
		},
		"services":              func(v yamldoc.Value) { d.stageServices(v, &s.Services) },
		"environments":          func(v yamldoc.Value) { d.stageEnvironments(v, &s.Environments, gitOps) },
		"environmentGroup":      func(v yamldoc.Value) { d.stageGroup(v, &s.Group, gitOps) },
		"multiDeploymentConfig": func(v yamldoc.Value) { d.multiDeployment(v, s) },
		"serviceConfig":         d.Never("the legacy form of a service (serviceConfig) isn't read; slipway convert rewrites it"),
		"infrastructure":        d.Never("the legacy form of an infrastructure isn't read; slipway convert rewrites it"),
		"gitOpsEnabled": func(v yamldoc.Value) {
			var on yamldoc.Field[bool]
			d.Decided(&on)(v)
			s.GitOps = on.Value
		},
		"customDeploymentRef": services(d).customOnly(p.deployment, &s.CustomRef),
		"deploymentMetadata":  d.Never("deployment metadata says more of deployment types that aren't supported"),
	}
}

func (d deployments) multiDeployment(v yamldoc.Value, s *Deployment) {
	s.Multi.Doc = v.Node
	d.Fields(v, document.Keys{
		"maxConcurrency": d.Count(&s.Multi.MaxConcurrency),
		"onFailure":      d.Literal(&s.Multi.OnFailure, runAll, skipQueued),
		"when":           d.Condition(&s.Multi.When),
	})
}

// several says whether a Deployment stage's spec is written so that it may
// have several deployments (semantics/entities §5.2). Such a stage is repeated
// for each, be it one.
func several(spec *yamldoc.Node) bool {
	if spec.Get("services") != nil || spec.Get("environments") != nil || spec.Get("environmentGroup") != nil {
		return true
	}
	if gitOps(spec) { // the clusters of an environment are one deployment
		return false
	}
	environment := spec.Get("environment")
	list := environment.Get("infrastructureDefinitions")
	return !document.Neutral(environment.Get("deployToAll")) || !document.Neutral(environment.Get("filters")) || list != nil && len(list.Items) > 1
}

// onceOnly refuses a looping strategy of a stage that has several deployments:
// both would repeat it, and nobody documents which is around the other, what
// their iterations are called, or whose <+matrix...> is read.
func (d deployments) onceOnly(v yamldoc.Value) {
	if several(v.Node.Get("spec")) && !document.Neutral(v.Node.Get("strategy")) {
		d.Unsupported(document.Child(v, "strategy"), "this stage is repeated already, for each of its services and infrastructures, and how a looping strategy would go with that isn't documented; take the lists out and name what the matrix has (serviceRef: <+matrix.service>), or take the strategy out")
	}
}

// sameSwimlane reports a step that only stages of other deployment types have.
func (d *decoder) sameSwimlane(typ yamldoc.Value, name, deployment string) {
	own, known := d.options.Lanes.Of(deployment)
	owners := d.options.Lanes.Owners(name)
	switch {
	case !known || len(owners) == 0 || slices.Contains(owners, deployment):
	case slices.ContainsFunc(owners, func(o string) bool { return slices.Contains(own.Near, o) }):
		d.Warnf(typ, document.WrongValue, "%s is a step of %s stages; the stage has the deployment type %s", name, strings.Join(owners, " and "), deployment)
	case own.Pulled:
		d.Errorf(typ, document.WrongValue, "%s is a step of stages of the deployment type %s; this one has gitOpsEnabled: GitOps agents bring what is deployed", name, strings.Join(owners, " or "))
	default:
		d.Errorf(typ, document.WrongValue, "%s is a step of stages %s; this one is of the type %s", name, stagesOf(d.options.Lanes, owners), deployment)
	}
}
