package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollingDeployType is the step type AsgRollingDeploy: a version of the launch
// template is made, and the group is made, or updated and its machines replaced by
// an instance refresh.
//
// Outputs: output.asgName, output.asgArn, output.launchTemplateId,
// output.launchTemplateVersion, output.amiId, output.instanceRefreshId,
// output.previousVersion, output.min, output.max and output.desired. The
// deployment itself is done by delegate/asg.
func rollingDeployType() step.Type {
	t := step.Type{Name: string(OpRolling), Deploys: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec { return decodeRollingDeploy(d, v) }}
	return previewed(t, OpDiff, 0, "asgName", "instances", "useAlreadyRunningInstances")
}

// What a refresh does where the step doesn't say.
const (
	minHealthy = 90 // percent
	maxHealthy = 110
)

// widest is what AWS allows between both bounds of a refresh:
// https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_RefreshPreferences.html
const widest = 100

// rollingDeploy is the step's spec.
type rollingDeploy struct {
	Name            yamldoc.Field[string] // asgName
	Instances       instances
	MinHealthy      yamldoc.Field[int]
	MaxHealthy      yamldoc.Field[int]
	Warmup          yamldoc.Field[int] // seconds
	SkipMatching    yamldoc.Field[bool]
	SkipTermination yamldoc.Field[bool]
	Another         yamldoc.Field[string] // handleInProgressInstanceRefresh
}

func decodeRollingDeploy(d *document.Decoder, v yamldoc.Value) *rollingDeploy {
	s := &rollingDeploy{}
	d.Fields(v, document.Merge(s.Instances.keys(d), document.Keys{
		"asgName":                         d.Text(&s.Name),
		"minimumHealthyPercentage":        within(d, &s.MinHealthy, 0, 100),
		"maximumHealthyPercentage":        within(d, &s.MaxHealthy, 100, 200),
		"instanceWarmup":                  d.Count(&s.Warmup),
		"skipMatching":                    d.Flag(&s.SkipMatching),
		"skipInstanceTermination":         d.Flag(&s.SkipTermination),
		"handleInProgressInstanceRefresh": d.WordAnyCase(&s.Another, string(AnotherFails), string(AnotherWaits), string(AnotherYields)),
		"delegateSelectors":               d.Words(nil), // the plan's
	}))
	s.bounds(d, v)
	return s
}

// bounds reports bounds of a refresh that are too far apart.
func (s *rollingDeploy) bounds(d *document.Decoder, v yamldoc.Value) {
	least, most := s.MinHealthy.Or(minHealthy), s.MaxHealthy.Or(maxHealthy)
	if s.MinHealthy.Expr != "" || s.MaxHealthy.Expr != "" || most-least <= widest {
		return
	}
	at := document.Child(v, "maximumHealthyPercentage")
	if !s.MaxHealthy.Set {
		at = document.Child(v, "minimumHealthyPercentage")
	}
	d.Errorf(at, document.WrongValue, "the healthy percentages are from %d to %d; AWS wants at most %d between them", least, most, widest)
}

// within fills a field with a number between two bounds.
func within(d *document.Decoder, f *yamldoc.Field[int], least, most int) document.Rule {
	return func(v yamldoc.Value) {
		if *f = d.Int(v); f.Set && f.Expr == "" && (f.Value < least || f.Value > most) {
			d.Errorf(v, document.WrongValue, "found %d; want a number from %d to %d", f.Value, least, most)
		}
	}
}

// Start has a delegate deploy.
func (s *rollingDeploy) Start(in step.In) (step.Action, error) {
	how := &Refresh{
		MinHealthy: s.MinHealthy.Or(minHealthy), MaxHealthy: s.MaxHealthy.Or(maxHealthy),
		SkipMatching: s.SkipMatching.Or(true), Early: s.SkipTermination.Value, Another: Another(s.Another.Or(string(AnotherFails))),
	}
	if s.Warmup.Set {
		how.Warmup = &s.Warmup.Value
	}
	return start(in, Spec{Op: OpRolling, Name: step.Text(s.Name), Size: s.Instances.size(), Refresh: how})
}
