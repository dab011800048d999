package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// exported finds the outputs that a step has published under an alias
// (semantics/pipeline §7.4): "scope.alias" is all of them, "scope.alias.name"
// one. The scope is the reader's pipeline, his stage, or a step group around
// him.
func (s *Scope) exported(path string) (expr.Value, error) {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return expr.Null(), fault.New(fault.Invalid, "exportedVariables.getValue(%q): want the scope, the alias and perhaps a name, such as pipeline.build.version", path)
	}
	p := publication{states: s.State, alias: parts[1]}
	switch parts[0] {
	case "pipeline":
		p.scope = "Pipeline"
		p.search(s.Plan.Root, nil)
	case "stage":
		p.scope = "Stage"
		p.search(s.Node.Stage(), nil)
	case "stepGroup":
		p.scope = "StepGroup"
		for g := group(s.Node.Parent()); g != nil && p.step == nil; g = group(g.Parent()) {
			p.search(g, g)
		}
	default:
		return expr.Null(), fault.New(fault.Invalid, "exportedVariables.getValue(%q): the scope is %q; want pipeline, stage or stepGroup", path, parts[0])
	}
	switch {
	case !p.known:
		return expr.Null(), unknown("no step publishes outputs under the alias %q in this %s", parts[1], parts[0])
	case p.looped:
		return expr.Null(), fault.New(fault.Invalid, "the outputs %q are published in a loop; every iteration would publish the same name", parts[1])
	case p.step == nil:
		return expr.Null(), nil // none of them has run
	}
	v, _, _, err := s.outputs.output(p.step, s.State(p.step.ID), slices.Concat([]string{"output", "outputVariables"}, parts[2:]))
	return v, err
}

// publication is who publishes under an alias.
type publication struct {
	states       func(plan.NodeID) plan.State
	scope, alias string
	known        bool       // a step would
	looped       bool       // one in a loop would: each iteration the same name
	step         *plan.Node // the first that has outputs: what was published stays
}

// search looks below a node. Within a group, only a step whose nearest group
// that is counts.
func (p *publication) search(n, nearest *plan.Node) {
	if n == nil || p.step != nil {
		return
	}
	if n.Kind == plan.KindStep {
		key, scope := entity.OutputAlias(n.Doc)
		if key == nil || key.Value != p.alias || scope != p.scope || nearest != nil && group(n.Parent()).ID != nearest.ID {
			return
		}
		loop, _ := n.Looped()
		p.known, p.looped = true, p.looped || loop != nil
		if st := p.states(n.ID); st.Status == plan.Success && len(st.Outputs) > 0 {
			p.step = n
		}
		return
	}
	for _, c := range slices.Concat(n.Children, n.Rollback) {
		p.search(c, nearest)
	}
}
