package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// fetched is what a delegate brings for a task: the files of what it deploys.
func (s *Spec) fetched() swimlane.Fetched {
	var all []aws.Manifest
	for _, one := range []*aws.Manifest{s.Target.Configuration, s.Target.Startup} {
		if one != nil {
			all = append(all, *one)
		}
	}
	return aws.Fetched(all...)
}

// needed is what an operation needs of what its stage deploys: only who makes a
// group needs to know what it is like.
func (t Target) needed(op Op) Target {
	t.Selectors = nil
	switch op {
	case OpSetup, OpStageSetup, OpDiff, OpStageDiff:
	case OpDeploy, OpRollback, OpSwapRoute, OpTrafficShift, OpShiftRollback:
		t.Configuration, t.Startup = nil, nil
	}
	return t
}
