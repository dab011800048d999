package step

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Fieldless is the type with specs that have no fields of their own: all that
// they say is which delegates may do the step.
func (t Type) Fieldless(start func(In) (Action, error)) Type {
	t.New = func(d *document.Decoder, v yamldoc.Value) Spec {
		d.Fields(v, document.Keys{
			"delegateSelectors": d.Words(nil), // the plan's
		})
		return fieldless(start)
	}
	return t
}

// fieldless is a spec without fields.
type fieldless func(In) (Action, error)

// Start does what the type does.
func (start fieldless) Start(in In) (Action, error) { return start(in) }
