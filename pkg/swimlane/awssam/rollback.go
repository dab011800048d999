package awssam

import "github.com/slipway-cd/slipway/pkg/step"

// rollbackType is the step type AwsSamRollback: the stacks that the stage has
// deployed are as they were before it. What failed in CloudFormation was rolled
// back by that itself. It needs no session.
//
// Outputs: output.stacks, their names.
func rollbackType() step.Type {
	return step.Type{Name: string(OpRollback), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) {
		target, err := step.TargetOf[*Target](in)
		if err != nil {
			return step.Action{}, err
		}
		own := *target
		own.Application = nil
		return start(in, own, Spec{Op: OpRollback}, func(*step.Task) {})
	})
}
