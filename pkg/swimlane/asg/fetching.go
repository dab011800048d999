package asg

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// fetched is what a delegate brings for a task: the documents of what it
// deploys.
func (s *Spec) fetched() swimlane.Fetched {
	t := s.Target
	all := append(append([]aws.Manifest(nil), t.Policies...), t.Schedules...)
	for _, one := range []*aws.Manifest{t.Template, t.UserData, t.Configuration, t.Additional} {
		if one != nil {
			all = append(all, *one)
		}
	}
	return aws.Fetched(all...)
}

// needed is what an operation needs of what its stage deploys.
func (t Target) needed(op Op) Target {
	if op.deploys() {
		return t
	}
	switch op { //nolint:exhaustive // the others need nothing
	case OpPhased:
		return Target{AWS: t.AWS, Policies: t.Policies, Schedules: t.Schedules}
	case OpSteadyState, OpCanaryDelete, OpScale: // what the group is called
		return Target{AWS: t.AWS, Base: t.Base, Configuration: t.Configuration}
	}
	return Target{AWS: t.AWS}
}
