package engine

import (
	"bytes"
	"errors"
	"slices"

	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// What the steps of an execution put out is read all at once, by whoever looks
// at the execution and by expressions. So there is a bound on all of it.
//
// Only large outputs are counted, by the commit that keeps them: to count the
// others would take a write more for every step, and they can't add up to more
// than extent.MaxNodes times extent.SmallOutputs. An attempt that is made again
// counts again: its outputs may have been read by others.

// errStuffed is the error of a commit whose outputs have no room. The decision
// is made anew, knowing it.
var errStuffed = errors.New("the execution keeps as much output as it may")

// keeping is what the writes of a commit bring of large outputs. A rollback has
// as much room again: it must not fail for what was there before it.
func (s *snapshot) keeping(writes []Write) store.Keeping {
	k := store.Keeping{Most: extent.MaxOutputs}
	back := s.execution.RollbackOf != ""
	for _, w := range writes {
		if size := len(w.State.Outputs); size > extent.SmallOutputs && !bytes.Equal(w.State.Outputs, s.state(w.Node).Outputs) {
			k.Bytes += size
			n := s.plan.Node(w.Node)
			back = back || n != nil && n.InRollback()
		}
	}
	switch {
	case k.Bytes == 0:
		return store.Keeping{}
	case slices.ContainsFunc(writes, func(w Write) bool { return w.State.Inherited }): // the other execution had room
		k.Most = 4 * extent.MaxOutputs
	case back:
		k.Most = 2 * extent.MaxOutputs
	}
	return k
}

// room is an outcome with outputs for which there is room: where a commit has
// found that there is none, a success fails, and a failure loses them.
func (w *walk) room(o *plan.Outcome) *plan.Outcome {
	if o == nil || !w.Stuffed || len(o.Outputs) <= extent.SmallOutputs {
		return o
	}
	err := fault.New(fault.TooLarge, "the step's outputs have %d bytes, and those of the execution would have more than %d MiB in all; put out less, such as the name of a file or of an artifact instead of what is in it",
		len(o.Outputs), extent.MaxOutputs>>20).Causing(fault.ResourceLimitsFailure)
	if o.Status.Good() {
		full := failed(err)
		return &full
	}
	less := *o
	less.Outputs, less.Message = nil, o.Message+"; its outputs are left out: "+err.Error()
	return &less
}
