package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// When is a node's condition (semantics/pipeline §4).
type When struct {
	Status    yamldoc.Field[string] // Success, Failure or All
	Condition yamldoc.Field[string] // an expression as a whole
}

// when binds a condition. The status is the pipeline's for a stage and the
// stage's for what is in it.
func (d *decoder) when(w *When, status string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			status: func(v yamldoc.Value) {
				w.Status = d.Enum(v, "Success", "Failure", "All")
				d.Fixed(v, w.Status.Expr)
			},
			"condition": d.Condition(&w.Condition),
		})
		d.Need(v, status)
	}
}
