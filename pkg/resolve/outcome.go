package resolve

import (
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// verdict resolves OnPipelineSuccess and its like: booleans that conditions of
// Harness are made of (semantics/pipeline §3.6).
func (r record) verdict(at *plan.Node, name string) (expr.Value, int, error) {
	failed := func(n *plan.Node) bool { return n != nil && r.state(n.ID).Worst.Bad() }
	switch name {
	case "OnPipelineSuccess":
		return expr.Bool(!failed(r.plan.Root)), 1, nil
	case "OnPipelineFailure":
		return expr.Bool(failed(r.plan.Root)), 1, nil
	case "OnStageSuccess":
		return expr.Bool(!failed(at.Stage())), 1, nil
	case "OnStageFailure":
		return expr.Bool(failed(at.Stage())), 1, nil
	}
	return expr.Bool(true), 1, nil // Always
}

// shortcut resolves a path that begins with the identifier of a step, which
// is looked for in the enclosing groups, the inner ones first, and then in the
// stage (semantics/pipeline §3.5). Within one container identifiers are unique.
func (walk paths) shortcut(path []string) (expr.Value, int, error) {
	for at := walk.scope.Node; at != nil; at = at.Parent() {
		base := string(at.ID) + ".steps."
		if at.Kind == plan.KindStage {
			base = string(at.ID) + ".spec.execution.steps."
			if walk.scope.Node.InProvisioner() {
				base = string(at.ID) + ".spec.environment.provisioner.steps."
			}
		}
		if id := plan.NodeID(base + path[0]); walk.scope.Plan.Node(id) != nil {
			full := join(strings.Split(string(id), "."), path[1:])
			return walk.absolute(full, len(full)-len(path))
		}
	}
	return expr.Null(), 0, expr.ErrUnknown
}

// approval resolves what people said in the stage's latest approval that has
// ended (semantics/pipeline §3.6).
func (walk paths) approval(path []string) (expr.Value, int, error) {
	var latest *plan.Node
	var at time.Time
	for _, n := range steps(walk.scope.Node.Stage()) {
		if st := walk.scope.State(n.ID); st.Approval != nil && st.EndedAt.After(at) {
			latest, at = n, st.EndedAt
		}
	}
	if latest == nil {
		return expr.Null(), len(path), nil
	}
	return walk.nodeField(latest, join([]string{"output"}, path[1:]))
}

// steps lists the steps below a node; none below nil.
func steps(n *plan.Node) []*plan.Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == plan.KindStep:
		return []*plan.Node{n}
	}
	var out []*plan.Node
	for _, list := range [][]*plan.Node{n.Children, n.Rollback} {
		for _, c := range list {
			out = append(out, steps(c)...)
		}
	}
	return out
}
