// Package barrier is the step type Barrier: steps of a pipeline that run at
// the same time wait for each other (semantics/pipeline §7.1). It needs no
// delegate.
//
// It has no outputs. Which steps there are and whether they have come is the
// engine's matter; what barriers a pipeline has, pkg/entity's.
package barrier

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "Barrier", New: decode, Meets: true} }

// Spec is the step's spec.
type Spec struct {
	Ref yamldoc.Field[string] // one of the pipeline's flowControl.barriers
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"barrierRef": func(e yamldoc.Value) {
			s.Ref = d.String(e)
			d.Settled(e, s.Ref.Expr, "the identifier of a barrier")
		},
		"delegateSelectors": d.Words(nil), // no delegate takes part
	})
	d.Missing(v, "barrierRef")
	return s
}

// Start comes to the barrier.
func (s *Spec) Start(step.In) (step.Action, error) {
	if s.Ref.Value == "" {
		return step.Action{}, fault.New(fault.Invalid, "barrierRef is empty; want the identifier of a barrier")
	}
	return step.Action{Barrier: s.Ref.Value}, nil
}
