package cloudformation

import (
	"encoding/json"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollbackType is the step type RollbackStack: the stack becomes again what the
// last execution before this one has made of it, or goes if there was none.
//
// Outputs: those of CreateStack, of the stack as it was.
func rollbackType() step.Type { return step.Type{Name: string(OpRollback), New: decodeRollback} }

// rollback is the step's spec.
type rollback struct{ Identifier yamldoc.Field[string] }

func decodeRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollback{}
	d.Fields(v, document.Keys{
		"configuration": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"provisionerIdentifier": provisioner.Identifier(d, &s.Identifier)})
			d.Need(v, "provisionerIdentifier")
		},
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "configuration")
	return s
}

// Start has a delegate take back what the execution has done. If it has done
// nothing, there is nothing to do.
func (s *rollback) Start(in step.In) (step.Action, error) {
	by, err := provisioner.Of(s.Identifier)
	if err != nil {
		return step.Action{}, err
	}
	all, err := in.Provisioned(Kind, by.Identifier, "")
	if err != nil {
		return step.Action{}, err
	}
	i := slices.IndexFunc(all, func(p step.Provisioned) bool { return p.Execution == in.Execution })
	if i < 0 {
		return step.Action{Done: &plan.Outcome{
			Status: plan.Success, Message: "Nothing to roll back: this execution has changed no stack by the provisioner " + by.Identifier,
			Outputs: json.RawMessage(`{"output":{}}`),
		}}, nil
	}
	at, err := placeOf(all[i])
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpRollback}, at, by)
}
