package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Infrastructure is an infrastructure definition's document
// (semantics/entities §4).
type Infrastructure struct {
	EnvironmentRef               yamldoc.Field[string]
	DeploymentType               yamldoc.Field[string]
	Type                         yamldoc.Field[string]
	AllowSimultaneousDeployments yamldoc.Field[bool]
	ScopedServices               []yamldoc.Field[string] // the only services that it takes; none: all
	CustomRef                    TemplateRef             // of a custom deployment
	Provisioner                  yamldoc.Field[string]   // the step of a stage's provisioner section that makes it; empty: all of them
	Variables                    []Variable              // of a custom deployment
	SpecDoc                      *yamldoc.Node           // the spec, as it stands
	Place                        swimlane.Place          // the spec, as its lane reads it; nil if nothing does
}

// infrastructureTypes are all that Harness has.
func infrastructureTypes() []string {
	return []string{
		"KubernetesDirect", "KubernetesAws", "KubernetesGcp", "KubernetesAzure", "KubernetesRancher", deployCustom, "Pdc", "SshWinRmAws",
		"SshWinRmAzure", "SshGcp", "ServerlessAwsLambda", "AwsLambda", "AWS_SAM", "ECS", "Asg", "Elastigroup", "TAS", "AzureWebApp",
		"AzureFunction", "AzureContainerApps", "GoogleCloudFunctions", "GoogleCloudRun", "GoogleManagedInstanceGroup", "Salesforce", "GitOps",
	}
}

func (d environments) infrastructure(v yamldoc.Value, e *Entity) *Infrastructure {
	i := &Infrastructure{}
	typ, deployment := document.Peek(v, "type"), document.Peek(v, "deploymentType")
	can := d.options.Lanes.Infrastructures()
	others := without(infrastructureTypes(), can)
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"environmentRef": func(v yamldoc.Value) { d.ownEnvironment(v, i, e) },
		"deploymentType": d.deploymentType(&i.DeploymentType),
		"type": func(t yamldoc.Value) {
			if slices.Contains(d.otherDeploymentTypes(), deployment) && slices.Contains(others, typ) {
				return // it goes with the deployment type
			}
			d.Supported(&i.Type, "infrastructure type", can, others...)(t)
			d.sameLane(t, i.Type.Value, deployment)
		},
		"allowSimultaneousDeployments": d.Decided(&i.AllowSimultaneousDeployments),
		"scopedServices":               d.scopedServices(i),
		"spec":                         func(v yamldoc.Value) { d.place(v, i, typ, deployment) },
	}))
	d.Need(v, "identifier", "name", "environmentRef", "deploymentType", "type", "spec")
	return i
}

// place decodes the spec as its lane reads it. Where the deployment type is
// none that has the type, the first lane that does.
func (d environments) place(v yamldoc.Value, i *Infrastructure, typ, deployment string) {
	i.SpecDoc = v.Node
	own, _ := d.options.Lanes.Of(deployment)
	for _, lane := range append(swimlane.Lanes{own}, d.options.Lanes...) {
		of, ok := lane.Infrastructure(typ)
		if !ok {
			continue
		}
		i.Place = of.New(d.lane(document.Keys{
			"scopedServices":               d.scopedServices(i),
			"provisioner":                  d.Text(&i.Provisioner),
			"allowSimultaneousDeployments": d.Decided(&i.AllowSimultaneousDeployments),
			"description":                  document.Nothing,
		}, &i.Variables, &i.CustomRef), v)
		return
	}
}

// sameLane reports an infrastructure type that its deployment type doesn't
// have.
func (d environments) sameLane(v yamldoc.Value, typ, deployment string) {
	lane, known := d.options.Lanes.Of(deployment)
	_, has := lane.Infrastructure(typ)
	if !known || has || !slices.Contains(d.options.Lanes.Infrastructures(), typ) {
		return
	}
	var can []string
	for _, i := range lane.Infrastructures {
		can = append(can, i.Type)
	}
	d.Errorf(v, document.WrongValue, "found the type %s for the deployment type %s; want %s", typ, deployment, document.Choice(can))
}

func (d environments) scopedServices(i *Infrastructure) document.Rule {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var one yamldoc.Field[string]
			d.Reference(ref.Service, &one)(item)
			d.Fixed(item, one.Expr)
			i.ScopedServices = append(i.ScopedServices, one)
		}
	}
}

// ownEnvironment reads the environment that an infrastructure belongs to.
func (d environments) ownEnvironment(v yamldoc.Value, i *Infrastructure, e *Entity) {
	d.Reference(ref.Environment, &i.EnvironmentRef)(v)
	d.Plain(v, i.EnvironmentRef.Expr, "the identifier of an environment")
	if r, err := ref.Parse(i.EnvironmentRef.Value, d.Scope); err == nil {
		e.Parent = r
	}
}
