package target

import (
	"cmp"
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// wanted is what a stage names, as it is written (semantics/entities §5).
type wanted struct {
	*entity.Deployment

	services []plan.Pick
	// servicesFrom and environmentFrom are the stages whose services or whose
	// environment and infrastructure these are; empty: it names its own.
	servicesFrom, environmentFrom string
	parallel                      yamldoc.Field[bool] // several infrastructures, not one after the other

	environments []environment
	group        string          // the environment group; empty: none
	all          bool            // every environment of the group, and every infrastructure
	filters      []entity.Filter // of the environments or the group
}

// environment is one of a stage's environments.
type environment struct {
	plan.Pick
	infrastructures []plan.Pick
	all             bool // all of them
	filters         []entity.Filter
	overrides       map[string]*yamldoc.Node // inputs of overrides, by service; empty: of all
	clusters        []plan.Cluster           // of a stage with gitOpsEnabled
}

// inputsFor are values for inputs of the overrides of a service.
func (e environment) inputsFor(service string) *yamldoc.Node {
	if own := e.overrides[service]; own != nil {
		return own
	}
	return e.overrides[""]
}

// read reads what a stage deploys where, which has been checked.
func read(d *entity.Deployment) wanted {
	w := wanted{Deployment: d, servicesFrom: cmp.Or(d.Service.From.Text, d.Services.From.Text), environmentFrom: d.Environment.From.Text}
	if d.Service.Ref.Set {
		w.services = []plan.Pick{serviceOf(d.Service, false)}
	}
	for _, one := range d.Services.Values {
		w.services = append(w.services, serviceOf(one, d.Services.DisableArtifactValidation.Value))
	}
	list := d.Environments.Values
	w.parallel, w.filters = d.Environments.Parallel, d.Environments.Filters
	switch group := d.Group; {
	case group.Ref.Set:
		w.group, w.all, list = group.Ref.Text, group.All.Value, group.Environments
		w.parallel, w.filters = group.Parallel, group.Filters
	case d.Environment.Ref.Set || w.environmentFrom != "":
		list = []entity.StageEnvironment{d.Environment}
	}
	for _, one := range list {
		w.environments = append(w.environments, environmentOf(one))
	}
	return w
}

func serviceOf(s entity.StageService, unchecked bool) plan.Pick {
	return plan.Pick{Ref: s.Ref.Text, Inputs: s.Inputs, Unchecked: s.DisableArtifactValidation.Value || unchecked}
}

func environmentOf(s entity.StageEnvironment) environment {
	e := environment{Pick: plan.Pick{Ref: s.Ref.Text, Inputs: s.Inputs}, all: s.All.Value, filters: s.Filters, overrides: s.OverrideInputs}
	for _, one := range s.Infrastructures {
		e.infrastructures = append(e.infrastructures, plan.Pick{Ref: one.Identifier.Text, Inputs: one.Inputs})
	}
	for _, one := range s.Clusters {
		e.clusters = append(e.clusters, plan.Cluster{Identifier: one.Identifier.Text, Agent: one.Agent.Text})
	}
	return e
}

// one is the choice of a stage that has a single deployment.
func (w wanted) one() (plan.Choice, bool) {
	if w.group != "" || len(w.filters) > 0 || len(w.services) != 1 || len(w.environments) != 1 {
		return plan.Choice{}, false
	}
	e := w.environments[0]
	if w.GitOps {
		return w.pulled(w.services[0], e), e.Ref != ""
	}
	if e.Ref == "" || e.all || len(e.filters) > 0 || len(e.infrastructures) != 1 {
		return plan.Choice{}, false
	}
	return plan.Choice{
		Type: w.Type.Text, Template: w.CustomRef.Doc, Service: w.services[0], Environment: e.Pick, Infrastructure: e.infrastructures[0],
		Overrides: e.inputsFor(w.services[0].Ref),
	}, true
}

// pulled is the choice of a stage with gitOpsEnabled: the clusters of an
// environment are one deployment of a service.
func (w wanted) pulled(service plan.Pick, e environment) plan.Choice {
	return plan.Choice{
		Type: w.Type.Text, Service: service, Environment: e.Pick, Overrides: e.inputsFor(service.Ref),
		GitOps: &plan.GitOps{Service: w.Type.Text, All: e.all || len(e.clusters) == 0, Clusters: e.clusters},
	}
}

// clusterNames are those that a choice names, expressions and all.
func clusterNames(c plan.Choice) string {
	if c.GitOps == nil {
		return ""
	}
	var b strings.Builder
	for _, one := range c.GitOps.Clusters {
		b.WriteString(one.Identifier + one.Agent)
	}
	return b.String()
}

func late(text string) bool { return strings.Contains(text, "<+") }

// Plan reads what a stage deploys where, as far as that is known before the
// stage starts; what is named then and doesn't exist, or lacks inputs, is an
// error already. others are those of all stages, by their identifiers.
func (r *Reader) Plan(ctx context.Context, d *entity.Deployment, others map[string]*entity.Deployment) (*plan.Deployment, error) {
	w := read(d)
	w.takeWritten(others)
	c, one := w.one()
	if one && !d.Several && len(w.environments[0].filters) == 0 && !late(c.Service.Ref+c.Environment.Ref+c.Infrastructure.Ref+clusterNames(c)) {
		return r.Deployment(ctx, c)
	}
	if err := r.known(ctx, w); err != nil {
		return nil, err
	}
	return &plan.Deployment{Type: r.laneOf(d), Late: true, Several: d.Several}, nil
}

// known reads what is named without an expression.
func (r *Reader) known(ctx context.Context, w wanted) error {
	for _, p := range w.services {
		if late(p.Ref) {
			continue
		}
		if _, err := r.entity(ctx, ref.Service, p, ""); err != nil {
			return err
		}
	}
	if w.group != "" && !late(w.group) {
		if _, err := r.read(ctx, ref.EnvironmentGroup, w.group, ""); err != nil {
			return err
		}
	}
	for _, e := range w.environments {
		if e.Ref == "" || late(e.Ref) {
			continue
		}
		if _, err := r.entity(ctx, ref.Environment, e.Pick, ""); err != nil {
			return err
		}
		for _, p := range e.infrastructures {
			if late(p.Ref) {
				continue
			}
			if _, err := r.entity(ctx, ref.Infrastructure, p, e.Ref); err != nil {
				return err
			}
		}
	}
	return nil
}
