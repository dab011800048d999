package target

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// takeWritten puts what earlier stages have written in the place of what the
// stage takes from them (semantics/entities §5.1). Where that is an
// expression, it says no more than that one is.
func (w *wanted) takeWritten(others map[string]*entity.Deployment) {
	if from := others[w.servicesFrom]; from != nil {
		w.services = read(from).services
	}
	if from := others[w.environmentFrom]; from != nil {
		w.placed(read(from).environments)
	}
}

// placed puts environments in the place of the one that is taken from another
// stage. Infrastructures that the stage chooses itself stay.
func (w *wanted) placed(from []environment) {
	own := w.environments
	w.environments = slices.Clone(from)
	if len(own) != 1 || len(own[0].infrastructures) == 0 && !own[0].all && len(own[0].filters) == 0 {
		return
	}
	for i := range w.environments {
		e := &w.environments[i]
		e.infrastructures, e.all, e.filters = own[0].infrastructures, own[0].all, own[0].filters
	}
}

// wanted is what a stage wants, with what it takes from other stages: from
// earlier ones as they have chosen it, from members of the same parallel block
// as it is written there.
func (s *Stage) wanted(stage *yamldoc.Node) (wanted, error) {
	w := read(s.decoded(stage))
	w.takeWritten(s.beside(w))
	if w.servicesFrom != "" && w.services == nil {
		chosen, err := s.chosenBy(w.servicesFrom)
		if err != nil {
			return w, err
		}
		for _, c := range chosen {
			if !slices.ContainsFunc(w.services, func(p plan.Pick) bool { return p.Ref == c.Service.Ref }) {
				w.services = append(w.services, c.Service)
			}
		}
	}
	if w.environmentFrom != "" && w.environments[0].Ref == "" {
		chosen, err := s.chosenBy(w.environmentFrom)
		if err != nil {
			return w, err
		}
		from := environment{Pick: chosen[0].Environment, infrastructures: []plan.Pick{chosen[0].Infrastructure}}
		if given := chosen[0].Overrides; given != nil { // values for what is overridden for that service, and no other
			from.overrides = map[string]*yamldoc.Node{chosen[0].Service.Ref: given}
		}
		w.placed([]environment{from})
	}
	return w, nil
}

// decoded is what a stage's document says of what is deployed where.
func (s *Stage) decoded(stage *yamldoc.Node) *entity.Deployment {
	if d := entity.StageOf(stage, entity.Options{Scope: s.Scope, Types: s.Types}).Deployment; d != nil {
		return d
	}
	return &entity.Deployment{}
}

// beside are the stages that a stage takes something from and that stand in the
// same parallel block.
func (s *Stage) beside(w wanted) map[string]*entity.Deployment {
	others := map[string]*entity.Deployment{}
	for _, id := range []string{w.servicesFrom, w.environmentFrom} {
		n := s.Plan.Node(plan.NodeID("pipeline.stages." + id))
		if id == "" || n == nil || n.Parent() == nil || n.Parent().Kind != plan.KindParallel || n.Parent() != s.Node.Parent() {
			continue
		}
		if n.Kind == plan.KindLoop {
			n = n.Children[0]
		}
		others[id] = s.decoded(n.Doc)
	}
	return others
}

// chosenBy is what an earlier stage has chosen to deploy where; never none.
func (s *Stage) chosenBy(stage string) ([]plan.Choice, error) {
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
	written := read(s.decoded(n.Doc))
	c := plan.Choice{
		Service: plan.Pick{Ref: d.ServiceRef, Unchecked: d.Unchecked}, Environment: plan.Pick{Ref: d.EnvironmentRef},
		Infrastructure: plan.Pick{Ref: d.InfrastructureID()},
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
