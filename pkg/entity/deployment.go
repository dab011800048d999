package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The deployment types of the Kubernetes swimlane.
const (
	DeployKubernetes = "Kubernetes"
	DeployNativeHelm = "NativeHelm"
)

// otherDeploymentTypes are those of the other swimlanes (entities spec §2).
func otherDeploymentTypes() []string {
	return []string{
		"Ssh", "WinRm", "ServerlessAwsLambda", "AzureWebApp", "AzureFunction", "CustomDeployment", "ECS", "Elastigroup", "TAS",
		"Asg", "GoogleCloudFunctions", "AwsLambda", "AWS_SAM", "GoogleCloudRun", "AzureContainerApps", "Salesforce",
		"GoogleManagedInstanceGroup", "AiAgent",
	}
}

// deploymentType binds the deployment type of a stage, a service or an
// infrastructure definition.
func (d *decoder) deploymentType(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.supported(f, "deployment type", []string{DeployKubernetes, DeployNativeHelm}, otherDeploymentTypes()...)(v)
		if f.Value == DeployNativeHelm {
			d.atRun(v, "deployments of the type NativeHelm")
		}
	}
}

// atRun warns of what is saved but can't be run yet.
func (d *decoder) atRun(v yamldoc.Value, what string) {
	d.Warnf(v, unsupportedAtRun, "%s can be saved, but a run refuses them: they aren't supported yet", what)
}

// Deployment is what a Deployment stage deploys where (entities spec §5).
type Deployment struct {
	Type        yamldoc.Field[string]
	Service     StageService
	Environment StageEnvironment
}

// StageService is the service of a stage.
type StageService struct {
	Ref                       yamldoc.Field[string]
	Inputs                    *yamldoc.Node // values of the service's runtime inputs
	DisableArtifactValidation yamldoc.Field[bool]
}

// StageEnvironment is the environment of a stage with its one infrastructure.
type StageEnvironment struct {
	Ref            yamldoc.Field[string]
	Inputs         *yamldoc.Node
	Infrastructure StageInfrastructure
}

// StageInfrastructure is the infrastructure definition of a stage.
type StageInfrastructure struct {
	Identifier yamldoc.Field[string]
	Inputs     *yamldoc.Node
}

func (d *decoder) deployment(s *Deployment) keys {
	return keys{
		"deploymentType":        d.deploymentType(&s.Type),
		"service":               func(v yamldoc.Value) { d.stageService(v, &s.Service) },
		"environment":           func(v yamldoc.Value) { d.stageEnvironment(v, &s.Environment) },
		"services":              d.refuse("stages with several services aren't supported"),
		"environments":          d.refuse("stages with several environments aren't supported"),
		"environmentGroup":      d.refuse("environment groups aren't supported"),
		"serviceConfig":         d.refuse("the legacy form of a service (serviceConfig) isn't supported"),
		"infrastructure":        d.refuse("the legacy form of an infrastructure isn't supported"),
		"multiDeploymentConfig": d.refuse("stages with several deployments aren't supported"),
		"gitOpsEnabled":         d.refuse("GitOps deployments aren't supported"),
		"customDeploymentRef":   d.refuse("custom deployments aren't supported"),
		"deploymentMetadata":    d.refuse("deployment metadata isn't supported"),
	}
}

func (d *decoder) stageService(v yamldoc.Value, s *StageService) {
	d.fields(v, keys{
		"serviceRef":                d.reference(ref.Service, &s.Ref),
		"serviceInputs":             d.node(&s.Inputs),
		"disableArtifactValidation": d.flag(&s.DisableArtifactValidation),
		"useFromStage":              d.refuse("taking the service of another stage (useFromStage) isn't supported"),
		"gitBranch":                 d.refuse("services on a Git branch aren't supported"),
		"failureStrategies":         d.refuse("failure strategies of a service aren't supported"),
		"description":               func(yamldoc.Value) {},
	})
	if v.Node.Get("useFromStage") == nil {
		d.need(v, "serviceRef")
	}
}

func (d *decoder) stageEnvironment(v yamldoc.Value, s *StageEnvironment) {
	environment := peek(v, "environmentRef")
	d.fields(v, keys{
		"environmentRef":            d.reference(ref.Environment, &s.Ref),
		"environmentInputs":         d.node(&s.Inputs),
		"infrastructureDefinition":  func(v yamldoc.Value) { s.Infrastructure = d.stageInfrastructure(v, environment) },
		"infrastructureDefinitions": func(v yamldoc.Value) { s.Infrastructure = d.oneInfrastructure(v, environment) },
		"serviceOverrideInputs":     d.asked(d.refuse("overrides of services aren't supported")),
		"servicesOverrides":         d.refuse("overrides of services aren't supported"),
		"deployToAll":               d.refuse("deploying to all infrastructures of an environment isn't supported"),
		"gitOpsClusters":            d.refuse("GitOps clusters aren't supported"),
		"filters":                   d.refuse("filters of infrastructures aren't supported"),
		"provisioner":               d.refuse("provisioners aren't supported"),
		"useFromStage":              d.refuse("taking the environment of another stage (useFromStage) isn't supported"),
		"gitBranch":                 d.refuse("environments on a Git branch aren't supported"),
		"failureStrategies":         d.refuse("failure strategies of an environment aren't supported"),
		"description":               func(yamldoc.Value) {},
	})
	if v.Node.Get("useFromStage") == nil && neutral(v.Node.Get("deployToAll")) {
		d.need(v, "environmentRef")
		d.oneOf(v, "infrastructureDefinition", "infrastructureDefinitions")
	}
}

// oneInfrastructure decodes a list that must have one item.
func (d *decoder) oneInfrastructure(v yamldoc.Value, environment string) StageInfrastructure {
	var first StageInfrastructure
	n := 0
	for item := range d.list(v) {
		one := d.stageInfrastructure(item, environment)
		if n++; n == 1 {
			first = one
			continue
		}
		d.Unsupported(item, "stages with several infrastructures aren't supported yet")
	}
	if n == 0 && (v.Null() || v.Is(yamldoc.Sequence)) {
		d.Errorf(v, emptyList, "found no infrastructure definition; want one")
	}
	return first
}

func (d *decoder) stageInfrastructure(v yamldoc.Value, environment string) StageInfrastructure {
	var s StageInfrastructure
	d.fields(v, keys{
		"identifier": func(v yamldoc.Value) {
			s.Identifier = d.String(v)
			d.referInfrastructure(v, s.Identifier.Value, environment)
		},
		"inputs":      d.node(&s.Inputs),
		"metadata":    func(yamldoc.Value) {}, // the console's
		"description": func(yamldoc.Value) {},
	})
	d.need(v, "identifier")
	return s
}

// referInfrastructure adds the reference to an infrastructure definition,
// which lives in its environment's scope.
func (d *decoder) referInfrastructure(v yamldoc.Value, id, environment string) {
	if id == "" || environment == "" || strings.Contains(environment, "<+") {
		return
	}
	env, err := ref.Parse(environment, d.scope)
	if err != nil {
		return // reported where the environment is named
	}
	if err := ref.CheckID(ref.Infrastructure, id); err != nil {
		d.Errorf(v, badReference, "%s", err)
		return
	}
	d.references = append(d.references, Reference{
		Kind: ref.Infrastructure, Ref: ref.Ref{Scope: env.Scope, ID: id}, Environment: env.ID, Text: id, At: v.Pos(d.Report),
	})
}
