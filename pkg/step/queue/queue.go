// Package queue is the step type Queue: of all steps in the account with the
// same key one passes at a time, in the order of asking, until its pipeline
// or stage has ended (semantics/pipeline §7.2). It needs no delegate.
//
// It has no outputs. Who stands in a queue is the engine's matter.
package queue

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "Queue", New: decode, Holds: true} }

// Spec is the step's spec.
type Spec struct {
	Key   yamldoc.Field[string]
	Scope yamldoc.Field[string] // Pipeline or Stage
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"key": d.Text(&s.Key),
		"scope": func(e yamldoc.Value) {
			s.Scope = d.Enum(e, step.ScopePipeline, step.ScopeStage)
			d.Settled(e, s.Scope.Expr, step.ScopePipeline+" or "+step.ScopeStage)
		},
		"delegateSelectors": d.Words(nil), // no delegate takes part
	})
	d.Missing(v, "key", "scope")
	return s
}

// maxKey is the longest key, in bytes; the store's keys have 2,048.
const maxKey = 1024

// Start stands in the queue of the key.
func (s *Spec) Start(step.In) (step.Action, error) {
	switch n := len(s.Key.Value); {
	case n == 0:
		return step.Action{}, fault.New(fault.Invalid, "the key of the queue is empty; want a name")
	case n > maxKey:
		return step.Action{}, fault.New(fault.Invalid, "the key of the queue has %d bytes; the limit is %d", n, maxKey)
	}
	return step.Action{Turn: &step.Turn{Key: s.Key.Value}}, nil
}
