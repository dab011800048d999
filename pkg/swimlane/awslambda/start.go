package awslambda

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
)

// start makes the task of an operation. What only deploys needs is left out of
// the others' tasks.
func start(in step.In, p Spec) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	p.Target = *target
	p.Target.Selectors = nil
	if !p.Deploys() {
		p.Target.Function, p.Target.Aliases, p.Target.Artifact = nil, nil, nil
	} else if err := complete(p.Target); err != nil {
		return step.Action{}, err
	}
	return step.Deploy(in, Kind, p, Place{AWS: p.Target.AWS}, target.Selectors...)
}

// complete says what is missing of a function that is deployed.
func complete(t Target) error {
	switch {
	case len(t.Function) == 0:
		return fault.New(fault.Invalid, "the service has no manifest of the type %s", definition).Causing(fault.ConfigurationFailure)
	case t.Artifact == nil:
		return fault.New(fault.Invalid, "the service has no artifact, which is the function's code").Causing(fault.ConfigurationFailure)
	case t.Artifact.S3 == nil && t.Artifact.ECR == nil && !t.Artifact.IsFile():
		return fault.New(fault.Unsupported, "a function can't be made of an artifact of the type %s", t.Artifact.Type).Causing(fault.ConfigurationFailure)
	}
	return nil
}

// fieldless is the step type of an operation that has nothing to be told.
func fieldless(op Op) step.Type {
	return step.Type{Name: string(op), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) { return start(in, Spec{Op: op}) })
}

// previewed is a step type whose changes can be seen before; part is as
// step.Preview has it.
func previewed(t step.Type, part int) step.Type {
	t.Preview = &step.Preview{By: string(OpDiff), Part: part}
	return t
}
