package resolve

import (
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// record is a plan with what has become of its nodes: what it answers needs no
// expression to be resolved.
type record struct {
	plan  *plan.Plan
	state func(plan.NodeID) plan.State
}

// statusField is what has become of a node (semantics/pipeline §3.7): its
// status tells of it alone, its currentStatus of a failure below it too, even
// while others run, and its liveStatus of one in a loop that hasn't ended.
func (r record) statusField(n *plan.Node, name string) expr.Value {
	status := r.state(n.ID).Status
	if name != "status" {
		status = r.statusSoFar(n, name == "liveStatus")
	}
	if status == "" {
		return expr.Null()
	}
	return expr.StatusOf(status.Expression())
}

// statusSoFar is the worst that is known of a node that runs: a container has
// counted the children that have ended, so only those under way are looked at.
func (r record) statusSoFar(n *plan.Node, loops bool) plan.Status {
	st := r.state(n.ID)
	if n.Kind == plan.KindStep || n.Kind == plan.KindLoop && !loops || st.Status == "" || st.Status.Terminal() {
		return st.Status
	}
	worst := st.Status
	for _, known := range []plan.Status{st.Worst, st.Forward} { // Forward: it had ended before it was undone
		if known.Bad() && known.Worse(worst) {
			worst = known
		}
	}
	children := r.plan.Children(n, st)
	if n.Kind != plan.KindParallel && n.Kind != plan.KindLoop {
		children = children[min(st.Cursor, len(children)):]
		children = children[:min(1, len(children))]
	}
	if st.Rollback {
		children = nil // they were counted before it turned back
	}
	for _, c := range children {
		if below := r.statusSoFar(c, loops); below.Bad() && below.Worse(worst) {
			worst = below
		}
	}
	return worst
}
