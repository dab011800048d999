package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// upgradeContainerType is the step type EcsUpgradeContainer: the service that
// EcsServiceSetup has made gets tasks, and the one that served before gets fewer.
//
// Outputs: output.newServiceName, output.oldServiceName, output.newServiceCount
// and output.oldServiceCount. Both are scaled by delegate/ecs.
func upgradeContainerType() step.Type {
	return step.Type{Name: string(OpUpgrade), Deploys: true, New: decodeUpgradeContainer}
}

// upgradeContainer is the step's spec. A percentage of the new service's tasks is
// of those that it is to have in the end, one of the old service's of those that it
// had before.
type upgradeContainer struct {
	Count, OldCount yamldoc.Field[int]
	Unit, OldUnit   yamldoc.Field[string]
}

func decodeUpgradeContainer(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &upgradeContainer{}
	d.Fields(v, document.Keys{
		"newServiceInstanceCount":         d.Count(&s.Count),
		"newServiceInstanceUnit":          d.Word(&s.Unit, count, percentage),
		"downsizeOldServiceInstanceCount": d.Count(&s.OldCount),
		"downsizeOldServiceInstanceUnit":  d.Word(&s.OldUnit, count, percentage),
		"delegateSelectors":               d.Words(nil), // the plan's
	})
	d.Missing(v, "newServiceInstanceCount", "newServiceInstanceUnit")
	return s
}

// Start has a delegate scale both services.
func (s *upgradeContainer) Start(in step.In) (step.Action, error) {
	up := &Upgrade{New: amount(s.Count, s.Unit)}
	if s.OldCount.Set {
		old := amount(s.OldCount, s.OldUnit)
		up.Old = &old
	}
	return start(in, Spec{Op: OpUpgrade, Upgrade: up})
}

func amount(n yamldoc.Field[int], unit yamldoc.Field[string]) Amount {
	return Amount{Value: n.Value, Percent: unit.Value == percentage}
}
