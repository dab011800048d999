package gitops

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollbackType is the step type GitOpsRollback: agents are asked to make live what
// applications were before, where they are held then (semantics/gitops §11, §17).
//
// Outputs: gitops.applications, as of GitOpsSync. The questions are asked by
// delegate/gitops/errands.
func rollbackType() step.Type {
	return step.Type{Name: string(errand.OpRollback), Service: true, Looks: true, New: decodeRollback, Finish: step.Finisher((*rollback).finish)}
}

// rollback is the step's spec.
type rollback struct {
	Apps          []rolledBack
	Steps         yamldoc.Field[int]
	Prune         yamldoc.Field[bool]
	Healthy, Fail yamldoc.Field[bool]
}

type rolledBack struct {
	Agent, Name    yamldoc.Field[string]
	History, Steps yamldoc.Field[int]
}

func decodeRollback(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollback{}
	d.Fields(v, document.Keys{
		"applicationsList":  func(v yamldoc.Value) { s.list(d, v) },
		"rollBackSteps":     func(v yamldoc.Value) { s.Steps = back(d, v) },
		"prune":             d.Flag(&s.Prune),
		"waitTillHealthy":   d.Flag(&s.Healthy),
		"failOnTimeout":     d.Flag(&s.Fail),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Need(v, "applicationsList")
	aboutHealth(d, v, "failOnTimeout")
	return s
}

// back reads how many steps an application goes back.
func back(d *document.Decoder, v yamldoc.Value) yamldoc.Field[int] {
	n := d.Int(v)
	if n.Set && n.Value < 1 {
		d.Errorf(v, document.WrongValue, "found %d; want 1 or more", n.Value)
	}
	return n
}

func (s *rollback) list(d *document.Decoder, v yamldoc.Value) {
	for item := range d.Items(v) {
		var one rolledBack
		d.Fields(item, document.Keys{
			"agentId":         d.Reference(ref.GitOpsAgent, &one.Agent),
			"applicationName": d.Text(&one.Name),
			"historyId":       d.Count(&one.History),
			"rollBackSteps":   func(v yamldoc.Value) { one.Steps = back(d, v) },
		})
		d.Need(item, "agentId", "applicationName")
		s.Apps = append(s.Apps, one)
	}
}

// Start has a delegate ask for the rollbacks.
func (s *rollback) Start(in step.In) (step.Action, error) {
	spec := errand.Applications{
		Op: errand.OpRollback, Rollback: &errand.Rollback{Steps: max(1, s.Steps.Value), Prune: s.Prune.Value}, Wait: &errand.Wait{Healthy: s.Healthy.Value, Fail: s.Fail.Value},
	}
	for _, one := range s.Apps {
		spec.Choice.Named = append(spec.Choice.Named, errand.Named{Agent: one.Agent.Value, Name: one.Name.Value, History: int64(one.History.Value), Steps: one.Steps.Value})
	}
	return applications(in, spec)
}

// finish says in the step's message how many were rolled back.
func (s *rollback) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return counted(r, "rolled back")
}

// aboutHealth refuses what is about the wait for health where nobody waits for it.
func aboutHealth(d *document.Decoder, v yamldoc.Value, keys ...string) {
	for _, key := range keys {
		if at := document.Child(v, key); !document.Neutral(v.Node.Get(key)) && document.Neutral(v.Node.Get("waitTillHealthy")) {
			d.Errorf(at, document.WrongValue, "%s is about the wait for health; want waitTillHealthy: true beside it", key)
		}
	}
}
