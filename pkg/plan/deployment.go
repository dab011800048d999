package plan

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Deployment is what a Deployment stage deploys where: the documents of its
// service, environment and infrastructure with their inputs filled in.
type Deployment struct {
	Type string `json:"type"` // Kubernetes, NativeHelm, ...
	// Late says that what is deployed is chosen when the stage starts; then
	// its State has the Deployment, and this one has the type alone.
	Late bool `json:"late,omitempty"`
	// Several says that the stage deploys several services or to several
	// infrastructures: it is repeated for each.
	Several bool `json:"several,omitempty"`

	Service        *yamldoc.Node `json:"service,omitempty"`
	ServiceRef     string        `json:"serviceRef,omitempty"` // as written, e.g. "account.web"
	Environment    *yamldoc.Node `json:"environment,omitempty"`
	EnvironmentRef string        `json:"environmentRef,omitempty"`
	Infrastructure *yamldoc.Node `json:"infrastructure,omitempty"`
	Unchecked      bool          `json:"unchecked,omitempty"` // disableArtifactValidation
	Group          *Group        `json:"group,omitempty"`     // nil: no environment group was named
	// Overrides are laid over the service, the last ones on top.
	Overrides []Override `json:"overrides,omitempty"`
	// Template is the spec of a custom deployment's template; nil for others.
	Template *yamldoc.Node `json:"template,omitempty"`
}

// Override is a document of overrides with its inputs filled in.
type Override struct {
	Type  string        `json:"type"` // ENV_GLOBAL_OVERRIDE, ...
	Scope ref.Scope     `json:"scope"`
	Doc   *yamldoc.Node `json:"doc"` // has variables, manifests and configFiles
}

// Group is the environment group by which a stage named its environment.
type Group struct {
	Ref  string `json:"ref"` // as written, e.g. "org.west"
	Name string `json:"name"`
}

// Deploys is what a stage in the given state deploys where; nil for one that
// deploys nothing, and for one that hasn't chosen yet.
func (n *Node) Deploys(s State) *Deployment {
	if n.Deployment == nil || !n.Deployment.Late {
		return n.Deployment
	}
	return s.Deployment
}

// InfrastructureID is the identifier of the infrastructure definition; empty of
// what agents bring to clusters.
func (d *Deployment) InfrastructureID() string { return d.Infrastructure.Text("identifier") }

// Exclusive says whether only one stage at a time may deploy this service on
// this infrastructure (semantics/pipeline §7.2).
func (d *Deployment) Exclusive() bool {
	if d == nil {
		return false
	}
	const key = "allowSimultaneousDeployments"
	for _, allowed := range []*yamldoc.Node{d.Infrastructure.Get(key), d.Infrastructure.At("spec", key)} {
		if allowed != nil && strings.EqualFold(allowed.Value, "true") {
			return false
		}
	}
	return true
}

// Choice is a service and an infrastructure of an environment, as a stage
// names them (semantics/entities §5).
type Choice struct {
	Type           string `json:"type"`
	Service        Pick   `json:"service"`
	Environment    Pick   `json:"environment"`
	Infrastructure Pick   `json:"infrastructure"`
	Group          *Group `json:"group,omitempty"`
	// GitOps is what a stage with gitOpsEnabled names in place of an infrastructure.
	GitOps *GitOps `json:"gitOps,omitempty"`
	// Template is the customDeploymentRef of a custom deployment's stage.
	Template *yamldoc.Node `json:"template,omitempty"`
	// Overrides are values for inputs of the environment's overrides of the
	// service (serviceOverrideInputs).
	Overrides *yamldoc.Node `json:"overrides,omitempty"`
}

// GitOps are the clusters of an environment that a stage with gitOpsEnabled is
// about.
type GitOps struct {
	Service  string    `json:"service"`       // the deployment type that its service has
	All      bool      `json:"all,omitempty"` // of those that are linked
	Clusters []Cluster `json:"clusters,omitempty"`
}

// Cluster is one that a GitOps agent looks after.
type Cluster struct {
	Identifier string `json:"identifier"`
	Agent      string `json:"agentIdentifier,omitempty"` // empty in a stage: of whichever agent it is linked
	// What applications call it, and where it is; empty in a stage.
	Name   string `json:"name,omitempty"`
	Server string `json:"server,omitempty"`
}

// Pick is one of a stage's entities with the values of its runtime inputs.
type Pick struct {
	Ref    string        `json:"ref"` // may be an expression until the stage starts
	Inputs *yamldoc.Node `json:"inputs,omitempty"`
	// Unchecked says that nobody need look whether a service's artifact exists.
	Unchecked bool `json:"unchecked,omitempty"`
}

// SamePlace says whether two choices have the same infrastructure.
func (c *Choice) SamePlace(o *Choice) bool {
	return c.Environment.Ref == o.Environment.Ref && c.Infrastructure.Ref == o.Infrastructure.Ref
}
