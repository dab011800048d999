package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollbackType is the step type ElastigroupRollback: the group that served before
// the stage has its machines again, then the traffic and its name; the one that the
// stage has made is deleted. Where the stage changed nothing it succeeds and changes nothing.
//
// Outputs: those of ElastigroupSetup. It goes by the checkpoints of the stage
// alone, which delegate/elastigroup keeps.
func rollbackType() step.Type {
	return step.Type{Name: string(OpRollback), Deploys: true, New: decodeRollback}
}

// rollback is the step's spec, which says nothing.
type rollback struct{}

func decodeRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"metadata":          document.Nothing, // the console's
		"delegateSelectors": d.Words(nil),     // the plan's
	})
	return rollback{}
}

// ShiftBack has a delegate take back the shifts of a stage (aws.ShiftedBack).
func (t *Target) ShiftBack(in step.In) (step.Action, error) {
	return coloured(in, Spec{Op: OpShiftRollback})
}

// Start has a delegate roll back.
func (rollback) Start(in step.In) (step.Action, error) { return coloured(in, Spec{Op: OpRollback}) }
