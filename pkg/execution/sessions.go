package execution

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// SessionsOver says which sessions of a delegate's machine are to be closed:
// those whose group or stage has ended. Of an execution that isn't known here, or
// isn't the delegate's, nothing is said: it may be another server's.
func SessionsOver(ctx context.Context, all store.Store, d store.Delegate, open []task.Session) (task.SessionsOver, error) {
	out := task.SessionsOver{Over: []string{}}
	for _, one := range open {
		over, err := sessionOver(ctx, all, d, one)
		if err != nil {
			return task.SessionsOver{}, err
		}
		if over {
			out.Over = append(out.Over, one.ID)
		}
	}
	return out, nil
}

func sessionOver(ctx context.Context, all store.Store, d store.Delegate, one task.Session) (bool, error) {
	e, err := all.Execution(ctx, one.Execution)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil || !d.Scope.Covers(e.Scope) {
		return false, err
	}
	if e.Status.Terminal() {
		return true, nil
	}
	nodes, err := all.Nodes(ctx, e.ID, plan.NodeID(one.Node))
	if err != nil || len(nodes) == 0 {
		return false, err
	}
	return nodes[0].State.Status.Terminal(), nil
}
