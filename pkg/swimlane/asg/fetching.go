package asg

import (
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// fetched is what a delegate brings for a task: the documents of what it
// deploys.
func (s *Spec) fetched() swimlane.Fetched {
	if !s.Deploys() {
		return swimlane.Fetched{}
	}
	t := s.Target
	all := append(append([]aws.Manifest(nil), t.Policies...), t.Schedules...)
	for _, one := range []*aws.Manifest{t.Template, t.UserData, t.Configuration, t.Additional} {
		if one != nil {
			all = append(all, *one)
		}
	}
	return aws.Fetched(all...)
}

// Deploys says whether a task reads the documents.
func (s *Spec) Deploys() bool {
	switch s.Op {
	case OpRolling:
		return true
	case OpRollingRollback:
	}
	return false
}
