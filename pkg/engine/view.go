package engine

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// View is what names mean in a node of an execution, for people. Nothing is
// decided by it.
type View struct {
	*resolve.Scope

	late []string // the top-level keys of a step's spec that only its result can resolve
	snap *snapshot
}

// Given resolves what the node's document gives it: the spec of a step; of what
// has others in it all that isn't theirs. The values have at most so many bytes.
func (v View) Given(most int) (*yamldoc.Node, []resolve.Known) {
	if v.Node.Kind == plan.KindStep {
		return resolve.Show(v.Scope, specOf(v.Scope), v.late, most)
	}
	own := v.Doc(v.Node)
	for _, key := range []string{
		"identifier", "name", "description", "type", "tags", "orgIdentifier", "projectIdentifier", "spec", "stages", "steps", "rollbackSteps", "failureStrategies",
	} {
		own = own.Without(key)
	}
	return resolve.Show(v.Scope, own, nil, most)
}

// Err is what went wrong while states were read.
func (v View) Err() error {
	if v.snap.err != nil {
		return fmt.Errorf("read states: %w", v.snap.err)
	}
	return nil
}

// Of is the view of another node of the same execution, as it was read.
func (r *Reader) Of(ctx context.Context, v View, n *plan.Node) View {
	return r.view(ctx, v.snap, n)
}

// View is the view of a node. What the node reads of the clock is what it read
// when it began.
func (r *Reader) View(ctx context.Context, execution string, node plan.NodeID) (View, error) {
	snap, err := r.snapshot(ctx, execution)
	if err != nil {
		return View{}, err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return View{}, fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	return r.view(ctx, snap, n), nil
}

func (r *Reader) view(ctx context.Context, snap *snapshot, n *plan.Node) View {
	v := View{Scope: r.scope(ctx, snap, n, snap.state), late: r.steps[n.Type].Late, snap: snap}
	if began := snap.state(n.ID).StartedAt; !began.IsZero() {
		v.Now = began
	}
	return v
}
