package plan

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Deployment is what a Deployment stage deploys where: the documents of its
// service, environment and infrastructure with their inputs filled in.
type Deployment struct {
	Type string `json:"type"` // Kubernetes, NativeHelm, ...
	// Late says that what is deployed is chosen when the stage starts; then
	// its State has the Deployment, and this one has the type alone.
	Late bool `json:"late,omitempty"`

	Service        *yamldoc.Node `json:"service,omitempty"`
	ServiceRef     string        `json:"serviceRef,omitempty"` // as written, e.g. "account.web"
	Environment    *yamldoc.Node `json:"environment,omitempty"`
	EnvironmentRef string        `json:"environmentRef,omitempty"`
	Infrastructure *yamldoc.Node `json:"infrastructure,omitempty"`
}

// Deploys is what a stage in the given state deploys where; nil for one that
// deploys nothing, and for one that hasn't chosen yet.
func (n *Node) Deploys(s State) *Deployment {
	if n.Deployment == nil || !n.Deployment.Late {
		return n.Deployment
	}
	return s.Deployment
}

// Exclusive says whether only one stage at a time may deploy this service on
// this infrastructure (pipeline spec §7.2).
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
// names them (entities spec §5).
type Choice struct {
	Type           string `json:"type"`
	Service        Pick   `json:"service"`
	Environment    Pick   `json:"environment"`
	Infrastructure Pick   `json:"infrastructure"`
}

// Pick is one of a stage's entities with the values of its runtime inputs.
type Pick struct {
	Ref    string        `json:"ref"` // may be an expression until the stage starts
	Inputs *yamldoc.Node `json:"inputs,omitempty"`
}

// ChoiceOf reads the choice of a stage's spec.
func ChoiceOf(spec *yamldoc.Node) Choice {
	environment := spec.Get("environment")
	infra := environment.Get("infrastructureDefinition")
	if list := environment.Get("infrastructureDefinitions"); list != nil && len(list.Items) == 1 {
		infra = list.Items[0]
	}
	return Choice{
		Type:           str(spec, "deploymentType"),
		Service:        Pick{Ref: str(spec.Get("service"), "serviceRef"), Inputs: spec.At("service", "serviceInputs")},
		Environment:    Pick{Ref: str(environment, "environmentRef"), Inputs: environment.Get("environmentInputs")},
		Infrastructure: Pick{Ref: str(infra, "identifier"), Inputs: infra.Get("inputs")},
	}
}

// Late says whether only the start of the stage can tell what is named.
func (c Choice) Late() bool {
	return strings.Contains(c.Service.Ref+c.Environment.Ref+c.Infrastructure.Ref, "<+")
}
