package entity

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Infrastructure is an infrastructure definition's document
// (semantics/entities §4).
type Infrastructure struct {
	EnvironmentRef               yamldoc.Field[string]
	DeploymentType               yamldoc.Field[string]
	Type                         yamldoc.Field[string]
	AllowSimultaneousDeployments yamldoc.Field[bool]
	ConnectorRef                 yamldoc.Field[string]
	Namespace                    yamldoc.Field[string]
	ReleaseName                  yamldoc.Field[string]
	ScopedServices               []yamldoc.Field[string] // the only services that it takes; none: all
	// Of a cluster that is reached through its cloud.
	Cluster       yamldoc.Field[string] // region/name, zone/name or name
	Subscription  yamldoc.Field[string] // Azure
	ResourceGroup yamldoc.Field[string] // Azure
	Admin         yamldoc.Field[bool]   // Azure: with the cluster's own administrator
	// Of a custom deployment.
	CustomRef TemplateRef
	Variables []Variable // over those of the deployment template
}

// The infrastructure types that Slipway deploys to: a cluster that the
// connector names, or one of the connector's cloud.
const (
	InfraDirect  = "KubernetesDirect"
	InfraAWS     = "KubernetesAws"
	InfraGoogle  = "KubernetesGcp"
	InfraAzure   = "KubernetesAzure"
	InfraRancher = "KubernetesRancher"
)

func infrastructures() []string {
	return []string{InfraDirect, InfraAWS, InfraGoogle, InfraAzure, InfraRancher, DeployCustom}
}

func otherInfrastructures() []string {
	return []string{
		"Pdc", "SshWinRmAws", "SshWinRmAzure",
		"SshGcp", "ServerlessAwsLambda", "AwsLambda", "AWS_SAM", "ECS", "Asg", "Elastigroup", "TAS", "AzureWebApp",
		"AzureFunction", "AzureContainerApps", "GoogleCloudFunctions", "GoogleCloudRun", "GoogleManagedInstanceGroup",
		"Salesforce", "GitOps",
	}
}

func (d *decoder) infrastructure(v yamldoc.Value, e *Entity) *Infrastructure {
	i := &Infrastructure{}
	typ := document.Peek(v, "type")
	scoped := func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var one yamldoc.Field[string]
			d.reference(ref.Service, &one)(item)
			d.Fixed(item, one.Expr)
			i.ScopedServices = append(i.ScopedServices, one)
		}
	}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"environmentRef": func(v yamldoc.Value) { d.ownEnvironment(v, i, e) },
		"deploymentType": d.deploymentType(&i.DeploymentType),
		"type": func(t yamldoc.Value) {
			other := slices.Contains(otherInfrastructures(), document.Peek(v, "type"))
			if told := slices.Contains(otherDeploymentTypes(), document.Peek(v, "deploymentType")); told && other {
				return // it goes with the deployment type
			}
			d.Supported(&i.Type, "infrastructure type", infrastructures(), otherInfrastructures()...)(t)
		},
		"allowSimultaneousDeployments": d.Decided(&i.AllowSimultaneousDeployments),
		"scopedServices":               scoped,
		"spec": func(v yamldoc.Value) {
			if !slices.Contains(infrastructures(), typ) {
				return
			}
			if typ == DeployCustom {
				d.Fields(v, document.Merge(d.customInfrastructure(i), document.Keys{"scopedServices": scoped}))
				d.Need(v, "customDeploymentRef")
				return
			}
			known := document.Merge(d.kubernetes(i), document.Keys{"scopedServices": scoped})
			if typ != InfraDirect {
				known = document.Merge(known, d.cloudCluster(i, typ))
			}
			d.Fields(v, known)
			d.Need(v, "connectorRef", "namespace", "releaseName")
			d.needCluster(v, typ)
		},
	}))
	d.Need(v, "identifier", "name", "environmentRef", "deploymentType", "type", "spec")
	if of, deploys := i.Type.Value == DeployCustom, i.DeploymentType.Value == DeployCustom; of != deploys && i.Type.Set && i.DeploymentType.Set {
		d.Errorf(document.Child(v, "type"), document.WrongValue, "found the type %s for the deployment type %s; %s goes with itself alone", i.Type.Value, i.DeploymentType.Value, DeployCustom)
	}
	d.releaseName(document.Child(document.Child(v, "spec"), "releaseName"), i)
	return i
}

// ownEnvironment reads the environment that an infrastructure belongs to.
func (d *decoder) ownEnvironment(v yamldoc.Value, i *Infrastructure, e *Entity) {
	d.reference(ref.Environment, &i.EnvironmentRef)(v)
	d.Plain(v, i.EnvironmentRef.Expr, "the identifier of an environment")
	if r, err := ref.Parse(i.EnvironmentRef.Value, d.scope); err == nil {
		e.Parent = r
	}
}

// cloudCluster decodes which of a cloud's clusters is meant.
func (d *decoder) cloudCluster(i *Infrastructure, typ string) document.Keys {
	known := document.Keys{
		"cluster":  func(v yamldoc.Value) { i.Cluster = d.clusterName(v, typ) },
		"metadata": document.Nothing, // the console's
	}
	if typ == InfraAzure {
		known["subscriptionId"] = d.Text(&i.Subscription)
		known["resourceGroup"] = d.Text(&i.ResourceGroup)
		known["useClusterAdminCredentials"] = d.Flag(&i.Admin)
	}
	return known
}

// clusterName checks a cluster's name, which has its region or zone before it
// where its cloud has those.
func (d *decoder) clusterName(v yamldoc.Value, typ string) yamldoc.Field[string] {
	f := d.String(v)
	if f.Value == "" || typ != InfraAWS && typ != InfraGoogle {
		return f
	}
	if where, name, ok := strings.Cut(f.Value, "/"); !ok || where == "" || name == "" || strings.Contains(name, "/") {
		d.Errorf(v, document.WrongValue, "found %q; want a region or a zone, and a name, such as eu-central-1/web", f.Value)
	}
	return f
}

func (d *decoder) needCluster(v yamldoc.Value, typ string) {
	if typ != InfraDirect {
		d.Need(v, "cluster")
	}
	if typ == InfraAzure {
		d.Need(v, "subscriptionId", "resourceGroup")
	}
}

func (d *decoder) kubernetes(i *Infrastructure) document.Keys {
	return document.Keys{
		"connectorRef":                 d.reference(ref.Connector, &i.ConnectorRef),
		"namespace":                    func(v yamldoc.Value) { i.Namespace = d.namespace(v) },
		"releaseName":                  d.Text(&i.ReleaseName),
		"provisioner":                  d.Refuse("provisioners aren't supported"),
		"allowSimultaneousDeployments": d.Decided(&i.AllowSimultaneousDeployments),
		"description":                  document.Nothing,
	}
}

var (
	namespace   = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`) // of 63 characters at most
	releaseName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
)

func (d *decoder) namespace(v yamldoc.Value) yamldoc.Field[string] {
	f := d.String(v)
	if f.Value != "" && (len(f.Value) > 63 || !namespace.MatchString(f.Value)) {
		d.Errorf(v, document.BadName, "namespace %q is wrong: it may have at most 63 lower-case letters, digits and -", f.Value)
	}
	return f
}

// releaseName checks a release name, which becomes a label's value; Helm
// takes less.
func (d *decoder) releaseName(v yamldoc.Value, i *Infrastructure) {
	name, limit := i.ReleaseName.Value, 63
	if i.DeploymentType.Value == DeployNativeHelm {
		limit = 53
	}
	if name != "" && (len(name) > limit || !releaseName.MatchString(name)) {
		d.Errorf(v, document.BadName, "release name %q is wrong: it may have at most %d lower-case letters, digits, dots and -", name, limit)
	}
}
