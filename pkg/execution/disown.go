package execution

import (
	"context"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// MaxLost bounds how many claims a delegate can name as lost at once.
const MaxLost = 1000

// disown gives back what claims got whose answers never reached the delegate.
// It has begun none of it: what it begins is what an answer brought, and a
// claim is named here only if none did. So each task is open again, as if
// nobody had claimed it, and no attempt is counted.
//
// Whoever holds the fence of such a task by mistake is refused, as after every
// release.
func (s *Tasks) disown(ctx context.Context, d store.Delegate, lost []int64) error {
	if len(lost) == 0 {
		return nil
	}
	if len(lost) > MaxLost {
		return fault.New(fault.TooLarge, "the delegate names %d lost claims; the limit is %d", len(lost), MaxLost)
	}
	held, err := s.Store.DelegateTasks(ctx, d.ID)
	if err != nil {
		return err
	}
	for _, t := range held {
		if t.Claim == 0 || !slices.Contains(lost, t.Claim) {
			continue
		}
		if err := s.reopen(ctx, d, t); err != nil {
			return err
		}
	}
	return nil
}

// reopen gives back a task that its delegate hasn't begun. One that has never
// come through in many claims has ended: an answer may be too large to arrive.
func (s *Tasks) reopen(ctx context.Context, d store.Delegate, t store.Task) error {
	if t.Fence >= mostClaims {
		return s.complete(ctx, d, t.ID, protocol.Report{Fence: t.Fence, Result: task.Result{
			Status: task.Errored, FailureTypes: []fault.FailureType{fault.DelegateRestart},
			Message: "the task was given to delegates many times and never reached one",
		}}, s.Engine.AskAfter)
	}
	err := s.Store.ReleaseTask(ctx, t.ID, d.ID, t.Fence)
	if fault.Is(err, fault.LeaseLost) {
		return nil // somebody else has decided about it meanwhile
	}
	if err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "a claimed task never reached its delegate; it is open again", "execution", t.Execution, "node", t.Node, "task", t.ID, "delegate", d.Name)
	s.Engine.Changed(t.Execution) // its step is TaskWaiting again
	s.Engine.Waker.Wake(ctx, t.Scope)
	return nil
}
