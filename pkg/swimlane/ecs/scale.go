package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scaleType is the step type EcsScale: a service of the cluster gets another
// number of tasks.
//
// Outputs: output.service, output.previousCount and output.count. The service is
// scaled by delegate/ecs.
func scaleType() step.Type {
	return step.Type{Name: string(OpScale), Deploys: true, New: decodeScale}
}

// The units of a scale step's instances.
const (
	count      = "Count"
	percentage = "Percentage"
)

// scale is the step's spec.
type scale struct {
	Service    yamldoc.Field[string]
	Unit       yamldoc.Field[string]
	Instances  yamldoc.Field[int] // a percentage is of the service's desired count
	SkipSteady yamldoc.Field[bool]
}

func decodeScale(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &scale{}
	d.Fields(v, document.Keys{
		"service":              d.Text(&s.Service),
		"instanceUnit":         d.Word(&s.Unit, count, percentage),
		"instances":            d.Count(&s.Instances),
		"skipSteadyStateCheck": d.Flag(&s.SkipSteady),
		"connectorRef":         d.Refuse("another connector than that of the infrastructure isn't supported"),
		"region":               d.Refuse("another region than that of the infrastructure isn't supported"),
		"cluster":              d.Refuse("another cluster than that of the infrastructure isn't supported"),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "service", "instanceUnit", "instances")
	return s
}

// Start has a delegate scale the service.
func (s *scale) Start(in step.In) (step.Action, error) {
	how := &Scale{Service: step.Text(s.Service)}
	if n := s.Instances.Value; s.Unit.Value == percentage {
		how.Percentage = &n
	} else {
		how.Count = &n
	}
	return start(in, Spec{Op: OpScale, Scale: how, SkipSteady: s.SkipSteady.Value})
}
