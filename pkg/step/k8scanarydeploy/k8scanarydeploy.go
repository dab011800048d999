// Package k8scanarydeploy is the step type K8sCanaryDeploy of the standard
// type: a copy of the one workload stands beside the one that serves, with its
// own few instances (kubernetes spec §13.1). Progressive canaries are refused.
//
// Outputs: output.canaryWorkload ("namespace/Kind/name-canary"),
// output.targetInstances, output.releaseName and output.releaseNumber. The
// copy is made by delegate/kubernetes and deleted by K8sCanaryDelete.
package k8scanarydeploy

import (
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpCanary), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	// Instances is how many the canary has; a percentage is of the manifest's.
	Instances  *task.InstanceSelection
	SkipDryRun yamldoc.Field[bool]
	Flags      []task.CommandFlag
	Traffic    *task.TrafficRouting // once the canary is steady; nil for none
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "instanceSelection":
			s.Instances = kubernetes.Instances(r, e)
		case "skipDryRun":
			s.SkipDryRun = r.Bool(e)
		case "canaryType":
			if t := r.Enum(e, "Standard", "Progressive"); t.Value == "Progressive" {
				r.Unsupported(e, "a Progressive canary can't be deployed yet; Standard can")
			}
		case "targetPercentage":
			if !e.Null() {
				r.Unsupported(e, "targetPercentage belongs to a Progressive canary, which can't be deployed yet")
			}
		case "trafficRouting":
			if !e.Null() {
				s.Traffic = kubernetes.Traffic(r, e)
			}
		case "commandFlags":
			s.Flags = kubernetes.Flags(r, e, task.OpCanary)
		case "delegateSelectors": // the plan's
			r.Strings(e)
		default:
			r.Unknown(e, "instanceSelection", "skipDryRun", "canaryType", "targetPercentage", "trafficRouting", "commandFlags", "delegateSelectors")
		}
	}
	r.Missing(v, "instanceSelection")
	return s
}

// Start has a delegate deploy the canary.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpCanary, Instances: s.Instances, SkipDryRun: s.SkipDryRun.Value, CommandFlags: s.Flags, Traffic: s.Traffic})
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
