package ecs

import (
	"cmp"
	"reflect"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scaleType is the step type EcsScale: a service of the stage's cluster, or of
// another one, gets another number of tasks.
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
	// What isn't said is the infrastructure's.
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Cluster      yamldoc.Field[string]
}

func decodeScale(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &scale{}
	d.Fields(v, document.Keys{
		"service":              d.Text(&s.Service),
		"instanceUnit":         d.Word(&s.Unit, count, percentage),
		"instances":            d.Count(&s.Instances),
		"skipSteadyStateCheck": d.Flag(&s.SkipSteady),
		"connectorRef":         d.Reference(ref.Connector, &s.ConnectorRef),
		"region":               d.Text(&s.Region),
		"cluster":              d.Text(&s.Cluster),
		"delegateSelectors":    d.Words(nil), // the plan's
	})
	d.Missing(v, "service", "instanceUnit", "instances")
	return s
}

// Start has a delegate scale the service.
func (s *scale) Start(in step.In) (step.Action, error) {
	stages, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	target, err := s.target(in, *stages)
	if err != nil {
		return step.Action{}, err
	}
	how := &Scale{Service: step.Text(s.Service)}
	how.Elsewhere = target.Cluster != stages.Cluster || !reflect.DeepEqual(target.AWS, stages.AWS)
	if n := s.Instances.Value; s.Unit.Value == percentage {
		how.Percentage = &n
	} else {
		how.Count = &n
	}
	return startAt(in, target, Spec{Op: OpScale, Scale: how, SkipSteady: s.SkipSteady.Value})
}

// target is where the service is: what the step doesn't say is the stage's.
func (s *scale) target(in step.In, t Target) (Target, error) {
	region := cmp.Or(step.Text(s.Region), t.AWS.Region)
	t.Cluster, t.AWS.Region = cmp.Or(step.Text(s.Cluster), t.Cluster), region
	connector := step.Text(s.ConnectorRef)
	if connector == "" {
		return t, nil
	}
	var err error
	t.AWS, t.Selectors, err = in.AWS(connector, region)
	return t, err
}
