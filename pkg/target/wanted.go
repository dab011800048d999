package target

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// wanted is what a stage's spec names, as it is written
// (semantics/entities §5).
type wanted struct {
	typ      string
	template *yamldoc.Node // customDeploymentRef
	services []plan.Pick
	// servicesFrom and environmentFrom are the stages whose services or whose
	// environment and infrastructure these are; empty: it names its own.
	servicesFrom, environmentFrom string
	// servicesParallel and placesParallel say whether they go at the same time;
	// nil: one after the other.
	servicesParallel, placesParallel *yamldoc.Node

	environments []environment
	group        string          // the environment group; empty: none
	all          bool            // every environment of the group, and every infrastructure
	filters      []*yamldoc.Node // of the environments or the group
}

// environment is one of a stage's environments.
type environment struct {
	plan.Pick
	infrastructures []plan.Pick
	all             bool // all of them
	filters         []*yamldoc.Node
	overrides       map[string]*yamldoc.Node // inputs of overrides, by service; empty: of all
}

// inputsFor are values for inputs of the overrides of a service.
func (e environment) inputsFor(service string) *yamldoc.Node {
	if own := e.overrides[service]; own != nil {
		return own
	}
	return e.overrides[""]
}

// read reads a stage's spec, which has been checked.
func read(spec *yamldoc.Node) wanted {
	w := wanted{typ: text(spec, "deploymentType"), template: spec.Get("customDeploymentRef")}
	if one := spec.Get("service"); one != nil {
		w.servicesFrom = text(one.Get("useFromStage"), "stage")
		if w.servicesFrom == "" {
			w.services = []plan.Pick{serviceOf(one, nil)}
		}
	}
	if several := spec.Get("services"); several != nil {
		w.servicesFrom = text(several.Get("useFromStage"), "stage")
		w.servicesParallel = several.At("metadata", "parallel")
		for _, item := range items(several.Get("values")) {
			w.services = append(w.services, serviceOf(item, several))
		}
	}
	if one := spec.Get("environment"); one != nil {
		w.environmentFrom = text(one.Get("useFromStage"), "stage")
		w.environments = []environment{environmentOf(one)}
	}
	several := spec.Get("environments")
	list := several.Get("values")
	if group := spec.Get("environmentGroup"); group != nil {
		several, list = group, group.Get("environments")
		w.group, w.all = text(group, "envGroupRef"), isTrue(group.Get("deployToAll"))
	}
	for _, item := range items(list) {
		w.environments = append(w.environments, environmentOf(item))
	}
	w.placesParallel, w.filters = several.At("metadata", "parallel"), items(several.Get("filters"))
	return w
}

func serviceOf(doc, all *yamldoc.Node) plan.Pick {
	const unchecked = "disableArtifactValidation"
	return plan.Pick{
		Ref: text(doc, "serviceRef"), Inputs: doc.Get("serviceInputs"), Unchecked: isTrue(doc.Get(unchecked)) || isTrue(all.Get(unchecked)),
	}
}

func environmentOf(doc *yamldoc.Node) environment {
	e := environment{
		Pick:    plan.Pick{Ref: text(doc, "environmentRef"), Inputs: doc.Get("environmentInputs")},
		all:     isTrue(doc.Get("deployToAll")),
		filters: items(doc.Get("filters")),
	}
	if given := doc.Get("serviceOverrideInputs"); given != nil {
		e.overrides = map[string]*yamldoc.Node{"": given}
	}
	for _, item := range items(doc.Get("servicesOverrides")) {
		if e.overrides == nil {
			e.overrides = map[string]*yamldoc.Node{}
		}
		e.overrides[text(item, "serviceRef")] = item.Get("serviceOverrideInputs")
	}
	for _, item := range items(doc.Get("infrastructureDefinitions")) {
		e.infrastructures = append(e.infrastructures, infrastructureOf(item))
	}
	if one := doc.Get("infrastructureDefinition"); one != nil {
		e.infrastructures = append(e.infrastructures, infrastructureOf(one))
	}
	return e
}

func infrastructureOf(doc *yamldoc.Node) plan.Pick {
	return plan.Pick{Ref: text(doc, "identifier"), Inputs: doc.Get("inputs")}
}

// one is the choice of a stage that has a single deployment.
func (w wanted) one() (plan.Choice, bool) {
	if w.group != "" || len(w.filters) > 0 || len(w.services) != 1 || len(w.environments) != 1 {
		return plan.Choice{}, false
	}
	e := w.environments[0]
	if e.Ref == "" || e.all || len(e.filters) > 0 || len(e.infrastructures) != 1 {
		return plan.Choice{}, false
	}
	return plan.Choice{
		Type: w.typ, Template: w.template, Service: w.services[0], Environment: e.Pick, Infrastructure: e.infrastructures[0],
		Overrides: e.inputsFor(w.services[0].Ref),
	}, true
}

func late(text string) bool { return strings.Contains(text, "<+") }

func isTrue(n *yamldoc.Node) bool { return n != nil && strings.EqualFold(n.Value, "true") }

func items(n *yamldoc.Node) []*yamldoc.Node {
	if n == nil {
		return nil
	}
	return n.Items
}

// Plan reads what a stage deploys where, as far as that is known before the
// stage starts; what is named then and doesn't exist, or lacks inputs, is an
// error already. The specs are those of earlier stages, by identifier.
func (r *Reader) Plan(ctx context.Context, spec *yamldoc.Node, specs map[string]*yamldoc.Node) (*plan.Deployment, error) {
	w := read(spec)
	w.takeWritten(specs)
	c, one := w.one()
	if one && !entity.Several(spec) && !late(c.Service.Ref+c.Environment.Ref+c.Infrastructure.Ref) {
		return r.Deployment(ctx, c)
	}
	if err := r.known(ctx, w); err != nil {
		return nil, err
	}
	return &plan.Deployment{Type: w.typ, Late: true, Several: entity.Several(spec)}, nil
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
