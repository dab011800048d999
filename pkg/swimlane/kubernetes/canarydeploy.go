package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// canaryDeployType is the step type K8sCanaryDeploy. A standard canary is a
// copy of the one workload beside the one that serves, with its own few
// instances (semantics/kubernetes §13.1); K8sCanaryDelete deletes it. A
// progressive one takes over the pods of the one that serves, a share in each
// phase (semantics/kubernetes §13.4); K8sProgressiveCanaryRollback gives them
// back.
//
// Outputs: output.canaryWorkload ("namespace/Kind/name-canary"),
// output.targetInstances, output.releaseName and output.releaseNumber. Pods
// are made and moved by delegate/kubernetes.
func canaryDeployType() step.Type {
	return step.Type{Name: string(OpCanary), Deploys: true, New: decodeCanaryDeploy, Preview: &step.Preview{By: string(OpDiff), Part: 2}}
}

// The types of a canary.
const (
	standard    = "Standard"
	progressive = "Progressive"
)

// canaryDeploy is the step's spec.
type canaryDeploy struct {
	Kind yamldoc.Field[string] // Standard unless set
	// Target is the percentage of the pods that a progressive canary has after
	// the step.
	Target yamldoc.Field[int]
	// Instances is how many the canary has; a percentage is of the manifest's.
	Instances  *InstanceSelection
	SkipDryRun yamldoc.Field[bool]
	Flags      []origin.CommandFlag
	Traffic    *TrafficRouting // once the canary is steady; nil for none
}

func decodeCanaryDeploy(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &canaryDeploy{}
	routing := func(e yamldoc.Value) {
		if !e.Null() {
			s.Traffic = traffic(d, e)
		}
	}
	if document.Peek(v, "canaryType") == progressive {
		routing = d.Never("a Progressive canary can't route traffic yet: its pods get requests by their number")
	}
	d.Fields(v, document.Keys{
		"instanceSelection": func(e yamldoc.Value) { s.Instances = DecodeInstances(d, e) },
		"skipDryRun":        d.Flag(&s.SkipDryRun),
		"canaryType":        d.Word(&s.Kind, standard, progressive),
		"targetPercentage": func(e yamldoc.Value) {
			if s.Target = d.Int(e); s.Target.Set && s.Target.Expr == "" && (s.Target.Value < 1 || s.Target.Value > 100) {
				d.Errorf(e, "WRONG_VALUE", "found %d; want a percentage from 1 to 100", s.Target.Value)
			}
		},
		"trafficRouting":    routing,
		"commandFlags":      func(e yamldoc.Value) { s.Flags = stepFlags(d, e, OpCanary) },
		"delegateSelectors": d.Words(nil), // the plan's
	})
	s.suited(d, v)
	return s
}

// suited reports the fields that the canary's type needs or can't have.
func (s *canaryDeploy) suited(d *document.Decoder, v yamldoc.Value) {
	if s.Kind.Expr != "" { // it is known when the step starts
		return
	}
	if s.Kind.Value != progressive {
		d.Missing(v, "instanceSelection")
		noEffect(d, v, "targetPercentage", standard)
		return
	}
	d.Missing(v, "targetPercentage")
	noEffect(d, v, "instanceSelection", progressive)
}

// noEffect warns of a field of the other type.
func noEffect(d *document.Decoder, v yamldoc.Value, key, kind string) {
	if n := v.Node.Get(key); n != nil && n.Kind != yamldoc.Null {
		d.Warnf(yamldoc.Sub(n, key), "NO_EFFECT", "%s has no effect on a %s canary", key, kind)
	}
}

// Start has a delegate deploy the canary.
func (s *canaryDeploy) Start(in step.In) (step.Action, error) {
	p := Spec{Op: OpCanary, SkipDryRun: s.SkipDryRun.Value, CommandFlags: s.Flags}
	if s.Kind.Value == progressive {
		p.TargetPercentage = s.Target.Value
	} else {
		p.Instances, p.Traffic = s.Instances, s.Traffic
	}
	return start(in, p)
}
