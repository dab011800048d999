package asg

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
)

// start makes the task of a spec: it adds what its stage deploys. What only some
// tasks need is left out of the others.
func start(in step.In, s Spec) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	return startAt(in, *target, s)
}

// startAt makes the task of a spec for a target.
func startAt(in step.In, target Target, s Spec) (step.Action, error) {
	if s.Op.deploys() {
		if err := complete(target); err != nil {
			return step.Action{}, err
		}
	}
	s.Target = target.needed(s.Op)
	s.Target.Selectors = nil
	return step.Deploy(in, Kind, s, Place{AWS: s.Target.AWS}, target.Selectors...)
}

// deploys says whether an operation is about what its documents say.
func (o Op) deploys() bool {
	switch o {
	case OpRolling, OpCanary, OpBlueGreen, OpSetup, OpDiff, OpCanaryDiff, OpBlueGreenDiff, OpSetupDiff:
		return true
	case OpRollingRollback, OpSteadyState, OpCanaryDelete, OpScale, OpBlueGreenSwap, OpShiftTraffic, OpBlueGreenRollback, OpPhased, OpPhasedRollback:
	}
	return false
}

// complete says what is missing of a group that is deployed. One that stands for
// the documents has a launch template, too.
func complete(t Target) error {
	switch {
	case t.Base != "":
		return nil
	case t.Template == nil:
		return missing(launchTemplate)
	case t.Configuration == nil:
		return missing(configuration)
	}
	return nil
}

func missing(kind string) error {
	return fault.New(fault.Invalid, "No manifests found: the service has none of the type %s, which the deployment type %s requires; want one, or baseAsgName in the infrastructure definition", kind, Type).Causing(fault.ConfigurationFailure)
}

// fieldless is the step type of an operation that has nothing to be told.
func fieldless(op Op) step.Type {
	return step.Type{Name: string(op), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) { return start(in, Spec{Op: op}) })
}
