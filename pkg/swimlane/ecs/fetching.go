package ecs

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// fetched is what a delegate brings for a task: the documents of what it
// deploys or runs.
func (s *Spec) fetched() swimlane.Fetched { return aws.Fetched(s.documents()...) }

// documents are those that the operation reads.
func (s *Spec) documents() []aws.Manifest {
	var all []aws.Manifest
	with := func(some ...*aws.Manifest) {
		for _, one := range some {
			if one != nil {
				all = append(all, *one)
			}
		}
	}
	switch s.Op {
	case OpRolling, OpCanary, OpBlueGreenCreate, OpDiff, OpCanaryDiff, OpBlueGreenDiff, OpSetupDiff:
		with(s.Target.TaskDefinition, s.Target.Service)
		all = append(append(all, s.Target.Targets...), s.Target.Policies...)
	case OpSetup:
		with(s.Target.TaskDefinition, s.Target.Service)
	case OpUpgrade, OpBlueGreenSwap:
		all = append(append(all, s.Target.Targets...), s.Target.Policies...)
	case OpCanaryDelete:
		with(s.Target.Service)
	case OpRunTask:
		with(&s.RunTask.Request, s.RunTask.TaskDefinition)
	case OpRollingRollback, OpScale, OpBasicRollback, OpTrafficShift, OpBlueGreenRollback, OpShiftRollback:
	}
	return all
}
