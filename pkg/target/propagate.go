package target

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// takeWritten puts what earlier stages have written in the place of what the
// stage takes from them (entities spec §5.1). Where that is an expression, it
// says no more than that one is.
func (w *wanted) takeWritten(specs map[string]*yamldoc.Node) {
	if spec := specs[w.servicesFrom]; w.servicesFrom != "" && spec != nil {
		w.services = read(spec).services
	}
	if spec := specs[w.environmentFrom]; w.environmentFrom != "" && spec != nil {
		w.environments = read(spec).environments
	}
}

// wantedBy is what a stage wants, with what it takes from earlier stages as
// they have chosen it.
func wantedBy(s *resolve.Scope, spec *yamldoc.Node) (wanted, error) {
	w := read(spec)
	if w.servicesFrom != "" {
		chosen, err := chosenBy(s, w.servicesFrom)
		if err != nil {
			return w, err
		}
		for _, c := range chosen {
			if !slices.ContainsFunc(w.services, func(p plan.Pick) bool { return p.Ref == c.Service.Ref }) {
				w.services = append(w.services, c.Service)
			}
		}
	}
	if w.environmentFrom != "" {
		chosen, err := chosenBy(s, w.environmentFrom)
		if err != nil {
			return w, err
		}
		w.environments = []environment{{Pick: chosen[0].Environment, infrastructures: []plan.Pick{chosen[0].Infrastructure}}}
		if given := chosen[0].Overrides; given != nil { // values for what is overridden for that service, and no other
			w.environments[0].overrides = map[string]*yamldoc.Node{chosen[0].Service.Ref: given}
		}
	}
	return w, nil
}

// chosenBy is what an earlier stage has chosen to deploy where; never none.
func chosenBy(s *resolve.Scope, stage string) ([]plan.Choice, error) {
	n := s.Plan.Node(plan.NodeID("pipeline.stages." + stage))
	if n == nil {
		return nil, fault.New(fault.NotFound, "there is no stage %s to take from", stage)
	}
	st := s.State(n.ID)
	if n.Kind == plan.KindLoop {
		if st.Iterations == nil || len(st.Iterations.List) == 0 || st.Iterations.List[0].Choice == nil {
			return nil, fault.New(fault.Invalid, "stage %s, from which this one takes, deployed nothing", stage)
		}
		var out []plan.Choice
		for _, it := range st.Iterations.List {
			out = append(out, *it.Choice)
		}
		return out, nil
	}
	d := n.Deploys(st)
	if d == nil {
		return nil, fault.New(fault.Invalid, "stage %s, from which this one takes, deployed nothing", stage)
	}
	written := read(n.Doc.Get("spec"))
	c := plan.Choice{
		Service: plan.Pick{Ref: d.ServiceRef, Unchecked: d.Unchecked}, Environment: plan.Pick{Ref: d.EnvironmentRef},
		Infrastructure: plan.Pick{Ref: text(d.Infrastructure, "identifier")},
	}
	if len(written.services) == 1 {
		c.Service.Inputs = written.services[0].Inputs
	}
	if len(written.environments) == 1 {
		c.Overrides = written.environments[0].inputsFor(d.ServiceRef)
	}
	if len(written.environments) == 1 && len(written.environments[0].infrastructures) == 1 {
		c.Environment.Inputs = written.environments[0].Inputs
		c.Infrastructure.Inputs = written.environments[0].infrastructures[0].Inputs
	}
	return []plan.Choice{c}, nil
}
