package resolve

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// exported finds the outputs that a step has published under an alias
// (pipeline spec §7.4): "scope.alias" is all of them, "scope.alias.name" one.
// The scope is the reader's pipeline, his stage, or a step group around him.
func (s *Scope) exported(path string) (expr.Value, error) {
	parts := strings.SplitN(path, ".", 3)
	if len(parts) < 2 {
		return expr.Null(), fault.New(fault.Invalid, "exportedVariables.getValue(%q): want the scope, the alias and perhaps a name, such as pipeline.build.version", path)
	}
	var found *plan.Node
	switch parts[0] {
	case "pipeline":
		found = s.publisher(s.Plan.Root, "Pipeline", parts[1], nil)
	case "stage":
		found = s.publisher(s.Node.Stage(), "Stage", parts[1], nil)
	case "stepGroup":
		for g := group(s.Node.Parent()); g != nil && found == nil; g = group(g.Parent()) {
			found = s.publisher(g, "StepGroup", parts[1], g)
		}
	default:
		return expr.Null(), fault.New(fault.Invalid, "exportedVariables.getValue(%q): the scope is %q; want pipeline, stage or stepGroup", path, parts[0])
	}
	if found == nil {
		return expr.Null(), fault.New(fault.UnresolvedExpression, "no step has published outputs under the alias %q in this %s", parts[1], parts[0])
	}
	v, _, _, err := s.output(found, s.State(found.ID), slices.Concat([]string{"output", "outputVariables"}, parts[2:]))
	return v, err
}

// publisher is the step below a node that has published under an alias: the
// first that has outputs, as what was published stays. Within a group, only a
// step whose nearest group that is counts.
func (s *Scope) publisher(n *plan.Node, scope, alias string, nearest *plan.Node) *plan.Node {
	if n == nil {
		return nil
	}
	if n.Kind == plan.KindStep {
		doc := n.Doc.At("spec", "outputAlias")
		st := s.State(n.ID)
		if text(doc.Get("key")) == alias && text(doc.Get("scope")) == scope && st.Status == plan.Success && len(st.Outputs) > 0 &&
			(nearest == nil || group(n.Parent()) == nearest) {
			return n
		}
		return nil
	}
	for _, c := range slices.Concat(n.Children, n.Rollback) {
		if found := s.publisher(c, scope, alias, nearest); found != nil {
			return found
		}
	}
	return nil
}
