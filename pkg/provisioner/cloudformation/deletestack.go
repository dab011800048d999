package cloudformation

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deleteType is the step type DeleteStack: it deletes a stack that it names, or
// the one that was made by a provisioner's identifier. One that isn't there is
// no failure.
//
// Outputs: none.
func deleteType() step.Type { return step.Type{Name: string(OpDelete), New: decodeDelete} }

// inherited says that a stack is named by its provisioner.
const inherited = "Inherited"

// deletion is the step's spec.
type deletion struct {
	Type       yamldoc.Field[string]
	Identifier yamldoc.Field[string] // of Inherited
	stack                            // of Inline
}

func decodeDelete(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &deletion{}
	d.Fields(v, document.Keys{
		"configuration":     func(v yamldoc.Value) { s.configuration(d, v) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "configuration")
	return s
}

func (s *deletion) configuration(d *document.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.Type, inline, inherited),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case inline:
				d.Fields(v, s.stack.keys(d))
				d.Need(v, "connectorRef", "region", "stackName")
			case inherited:
				d.Fields(v, document.Keys{"provisionerIdentifier": provisioner.Identifier(d, &s.Identifier)})
				d.Need(v, "provisionerIdentifier")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// Start has a delegate delete the stack.
func (s *deletion) Start(in step.In) (step.Action, error) {
	if s.Type.Value != inherited {
		return start(in, Spec{Op: OpDelete}, s.place(), nil)
	}
	by, err := provisioner.Of(s.Identifier)
	if err != nil {
		return step.Action{}, err
	}
	all, err := in.Provisioned(Kind, by.Identifier, "")
	if err != nil {
		return step.Action{}, err
	}
	if len(all) == 0 {
		return step.Action{}, fault.New(fault.NotFound, "no stack was made in this project by the provisioner %s", by.Identifier).Causing(fault.ConfigurationFailure)
	}
	// What is under way by this execution is more than what was before.
	i := max(slices.IndexFunc(all, func(p step.Provisioned) bool { return p.Execution == in.Execution }), 0)
	at, err := placeOf(all[i])
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpDelete}, at, by)
}
