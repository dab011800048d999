package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deployType is the step type ElastigroupDeploy: the group that ElastigroupSetup
// has made gets machines, and the one that served before gets fewer.
//
// Outputs: those of ElastigroupSetup, output.newCount and output.oldCount. Both
// groups are scaled by delegate/elastigroup.
func deployType() step.Type {
	return step.Type{Name: string(OpDeploy), Deploys: true, New: decodeDeploy}
}

// deploy is the step's spec. A percentage of the new group's machines is of those
// that it is to have in the end, one of the old group's of those that it had before.
type deploy struct{ New, Old aws.Machines }

func decodeDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &deploy{}
	d.Fields(v, document.Keys{
		"newService":        func(e yamldoc.Value) { s.New.Decode(d, e) },
		"oldService":        func(e yamldoc.Value) { s.Old.Decode(d, e) },
		"metadata":          document.Nothing, // the console's
		"delegateSelectors": d.Words(nil),     // the plan's
	})
	d.Missing(v, "newService")
	return s
}

// Start has a delegate scale both groups.
func (s *deploy) Start(in step.In) (step.Action, error) {
	how := &Deploy{New: s.New.Amount()}
	if s.Old.Type.Set {
		old := s.Old.Amount()
		how.Old = &old
	}
	return start(in, Spec{Op: OpDeploy, Deploy: how})
}
