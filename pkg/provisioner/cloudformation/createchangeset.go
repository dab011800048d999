package cloudformation

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// changeSetType is the step type CreateChangeSet: it has CloudFormation make a
// change set of what a CreateStack step of the same stage will make, and tells it,
// so that people can look at it. That step executes the change set then, and
// nothing else.
//
// Outputs: output.diff, output.changed, output.hasChanges, output.changeSetId and
// output.stackId.
func changeSetType() step.Type {
	return step.Type{Name: string(OpChangeSet), New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		s := &changeSet{}
		d.Fields(v, document.Keys{
			"provisionerIdentifier": provisioner.Identifier(d, &s.Identifier),
			"delegateSelectors":     d.Words(nil), // the plan's
		})
		d.Missing(v, "provisionerIdentifier")
		return s
	}}
}

// changeSet is the step's spec.
type changeSet struct{ Identifier yamldoc.Field[string] }

// Start has a delegate make the change set of what the stage's CreateStack step
// says.
func (s *changeSet) Start(in step.In) (step.Action, error) {
	by, err := provisioner.Of(s.Identifier)
	if err != nil {
		return step.Action{}, err
	}
	all, err := in.Others(string(OpCreate))
	if err != nil {
		return step.Action{}, err
	}
	i := slices.IndexFunc(all, func(o step.Spec) bool {
		c, ok := o.(*create)
		return ok && step.Text(c.Identifier) == by.Identifier
	})
	if i < 0 {
		return step.Action{}, fault.New(fault.Invalid, "the stage has no CreateStack step with the provisionerIdentifier %s, which would execute the change set", by.Identifier).
			Causing(fault.ConfigurationFailure)
	}
	of, _ := all[i].(*create) // see above
	c, err := of.wanted(in)
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpChangeSet, Create: c}, of.place(), by)
}
