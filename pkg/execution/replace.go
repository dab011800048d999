package execution

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// replace takes in that earlier processes of a delegate were killed: what they
// had claimed and not begun is open again, what goes on in a session of the
// machine is taken up again, and what else they had begun is lost, as after a
// goodbye. They come again for a while, since a claim of theirs may
// still be under way, and end with a goodbye of their own.
func (s *Tasks) replace(ctx context.Context, by store.Delegate, gone []protocol.Replaced) error {
	if len(gone) > protocol.MaxReplaced {
		return fault.New(fault.TooLarge, "the delegate replaces %d others; the limit is %d", len(gone), protocol.MaxReplaced)
	}
	for _, g := range gone {
		if err := s.replaceOne(ctx, by, g); err != nil {
			return err
		}
	}
	return nil
}

// replaceOne does so for one. Whoever has its token may speak for it, and could
// say goodbye in its name; nobody else may.
func (s *Tasks) replaceOne(ctx context.Context, by store.Delegate, gone protocol.Replaced) error {
	d, err := s.Store.Delegate(ctx, by.Scope.Account, gone.ID)
	switch {
	case fault.Is(err, fault.NotFound):
		return nil
	case err != nil:
		return err
	case d.TokenID != by.TokenID || d.ID == by.ID:
		s.Log.WarnContext(ctx, "a delegate replaces one that isn't its own", "delegate", by.Name, "id", by.ID, "replaced", gone.ID)
		return nil
	}
	if !d.Draining { // from now on no claim of its gets anything
		err := s.Store.BeatDelegate(ctx, d.Scope.Account, d.ID, store.Beat{At: d.LastSeen, Draining: true})
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Log.InfoContext(ctx, "a delegate was killed; another process takes its place", "delegate", d.Name, "id", d.ID, "by", by.ID)
	}
	held, err := s.Store.DelegateTasks(ctx, d.ID)
	if err != nil {
		return err
	}
	for _, t := range held {
		switch {
		case !slices.Contains(gone.Begun, protocol.Held{ID: t.ID, Fence: t.Fence}):
			err = s.reopen(ctx, d, t)
		case t.Machine != "" && t.Machine == by.Machine:
			err = s.resume(ctx, d, t)
		default:
			err = s.lose(ctx, d, t, fmt.Sprintf("delegate %s was killed before the task ended", d.Name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// resume gives a task that was begun to the next process on its machine: what it
// runs goes on there, in a session that has outlived its delegate, and is found
// again. It isn't begun twice.
func (s *Tasks) resume(ctx context.Context, d store.Delegate, t store.Task) error {
	if t.Fence >= mostClaims {
		return s.lose(ctx, d, t, fmt.Sprintf("delegate %s was killed again and again before the task ended", d.Name))
	}
	err := s.Store.ReleaseTask(ctx, t.ID, d.ID, t.Fence)
	if fault.Is(err, fault.LeaseLost) {
		return nil // somebody else has decided about it meanwhile
	}
	if err != nil {
		return err
	}
	s.Log.InfoContext(ctx, "a task goes on on its machine; the next process there takes it", "execution", t.Execution, "node", t.Node, "task", t.ID, "delegate", d.Name)
	s.Engine.Changed(t.Execution)
	s.Engine.Waker.Wake(ctx, t.Scope)
	return nil
}

// lose ends a task that its delegate began and won't end. It isn't tried again
// by itself: the step's failure strategy says whether to.
func (s *Tasks) lose(ctx context.Context, d store.Delegate, t store.Task, why string) error {
	err := s.complete(ctx, d, t.ID, protocol.Report{Fence: t.Fence, Result: task.Result{
		Status: task.Failed, Message: why, FailureTypes: []fault.FailureType{fault.DelegateRestart},
	}}, s.Engine.AskAfter)
	if fault.Is(err, fault.LeaseLost) {
		return nil // somebody else has decided about it meanwhile
	}
	return err
}
