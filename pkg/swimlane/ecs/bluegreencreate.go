package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// blueGreenCreateType is the step type EcsBlueGreenCreateService: the new
// version becomes a service beside the one that has the traffic, behind a target
// group that has none, or less of it.
//
// Outputs: output.serviceName, output.serviceArn, output.newServiceName,
// output.oldServiceName, output.prodTargetGroupArn,
// output.stageTargetGroupArn, output.loadBalancer, output.prodListenerRuleArn,
// output.stageListenerRuleArn and output.taskDefinitionArn. In the files of
// its service <+targetGroupArn> is the target group of the new service. The
// service is made by delegate/ecs.
func blueGreenCreateType() step.Type {
	t := step.Type{Name: string(OpBlueGreenCreate), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeBlueGreenCreate(d, v) }}
	return previewed(t, OpBlueGreenDiff, 0, "loadBalancer", "prodListener", "prodListenerRuleArn", "stageListener", "stageListenerRuleArn",
		"stageTargetGroupArn", "isTrafficShift", "sameAsAlreadyRunningInstances", "updateGreenService")
}

// blueGreenCreate is the step's spec.
type blueGreenCreate struct {
	LoadBalancer     yamldoc.Field[string] // its name or ARN
	ProdListener     yamldoc.Field[string] // ARNs from here on
	ProdRule         yamldoc.Field[string] // prodListenerRuleArn
	StageListener    yamldoc.Field[string]
	StageRule        yamldoc.Field[string] // stageListenerRuleArn
	StageTargetGroup yamldoc.Field[string]
	Shift            yamldoc.Field[bool] // isTrafficShift
	SameCount        yamldoc.Field[bool] // sameAsAlreadyRunningInstances
	UpdateGreen      yamldoc.Field[bool] // updateGreenService
	ScaleInSwap      yamldoc.Field[bool] // enableAutoScalingInSwapStep
}

func decodeBlueGreenCreate(d *document.Decoder, v yamldoc.Value) *blueGreenCreate {
	s := &blueGreenCreate{}
	d.Fields(v, document.Keys{
		"loadBalancer":         d.Text(&s.LoadBalancer),
		"prodListener":         d.Text(&s.ProdListener),
		"prodListenerRuleArn":  d.Text(&s.ProdRule),
		"stageListener":        d.Text(&s.StageListener),
		"stageListenerRuleArn": d.Text(&s.StageRule),
		"stageTargetGroupArn":  d.Text(&s.StageTargetGroup),
		"isTrafficShift": func(e yamldoc.Value) {
			s.Shift = d.Bool(e)
			d.Plain(e, s.Shift.Expr, "true or false: the other keys depend on it")
		},
		"sameAsAlreadyRunningInstances": d.Flag(&s.SameCount),
		"updateGreenService":            d.Flag(&s.UpdateGreen),
		"enableAutoScalingInSwapStep":   d.Flag(&s.ScaleInSwap),
		"delegateSelectors":             d.Words(nil), // the plan's
	})
	d.Missing(v, "loadBalancer", "prodListener")
	s.one(d, v)
	return s
}

// one reports what isn't there of the one way to tell the new service's target
// group, and what is there of the other.
func (s *blueGreenCreate) one(d *document.Decoder, v yamldoc.Value) {
	wanted, other := []string{"stageListener", "stageListenerRuleArn"}, []string(nil)
	if s.Shift.Value {
		wanted, other = []string{"stageTargetGroupArn"}, wanted
	}
	for _, name := range wanted {
		if v.Node.Get(name) == nil {
			d.Errorf(v, document.MissingKey, "key %q is missing, which isTrafficShift: %t needs", name, s.Shift.Value)
		}
	}
	for _, name := range other {
		if !document.Neutral(v.Node.Get(name)) {
			d.Errorf(document.Child(v, name), document.WrongValue, "found %s beside isTrafficShift: true; want stageTargetGroupArn alone, for traffic is shifted at the prod listener's rule", name)
		}
	}
}

// Start has a delegate make the service.
func (s *blueGreenCreate) Start(in step.In) (step.Action, error) {
	return s.start(in, OpBlueGreenCreate)
}

func (s *blueGreenCreate) start(in step.In, op Op) (step.Action, error) {
	how := &BlueGreen{
		LoadBalancer: step.Text(s.LoadBalancer), ProdListener: step.Text(s.ProdListener), ProdRule: step.Text(s.ProdRule),
		UpdateGreen: s.UpdateGreen.Value, ScaleInSwap: s.ScaleInSwap.Value, Shift: s.Shift.Value,
	}
	if how.Shift {
		how.StageTargetGroup = step.Text(s.StageTargetGroup)
	} else {
		how.StageListener, how.StageRule = step.Text(s.StageListener), step.Text(s.StageRule)
	}
	for _, f := range []struct{ name, value string }{
		{"loadBalancer", how.LoadBalancer}, {"prodListener", how.ProdListener}, {"stageListener", how.StageListener + how.StageTargetGroup},
	} {
		if f.value == "" {
			return step.Action{}, fault.New(fault.Invalid, "%s is empty", f.name)
		}
	}
	return start(in, Spec{Op: op, SameCount: s.SameCount.Value, BlueGreen: how})
}
