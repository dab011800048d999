package gitops

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rolloutType is the step type GitOpsRollout: it waits until a Rollout of Argo's fares
// as it is to, and then does an action to it (semantics/gitops §17).
//
// Outputs: gitops.rollout with status, message, strategy, currentStep and weight. The
// questions are asked by delegate/gitops/errands.
func rolloutType() step.Type {
	return step.Type{Name: string(errand.OpRollout), Service: true, Looks: true, New: decodeRollout, Finish: step.Finisher((*rollout).finish)}
}

// rollout is the step's spec.
type rollout struct {
	Agent, App, Namespace, Name yamldoc.Field[string]
	Action, Former              yamldoc.Field[string] // Former has the key's old name
	Health, Message             yamldoc.Field[string]
	Fail                        yamldoc.Field[bool]
}

func decodeRollout(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &rollout{}
	d.Fields(v, document.Keys{
		"agentIdentifier":            d.Reference(ref.GitOpsAgent, &s.Agent),
		"appName":                    d.Text(&s.App),
		"namespace":                  d.Text(&s.Namespace),
		"rolloutName":                d.Text(&s.Name),
		"autoRolloutAction":          d.Word(&s.Action, "promote-full", "resume", "retry", "abort", "restart"),
		"autoPromoteRolloutBehavior": d.Word(&s.Former, "promote-full", "resume"),
		"waitUntilHealthStatus":      func(v yamldoc.Value) { s.wait(d, v) },
		"failOnTimeout":              d.Flag(&s.Fail),
		"delegateSelectors":          d.Words(nil), // the plan's
	})
	d.Need(v, "agentIdentifier", "appName", "namespace", "rolloutName")
	if at := document.Child(v, "autoPromoteRolloutBehavior"); s.Action.Set && s.Former.Set {
		d.Errorf(at, document.Ambiguous, "found autoRolloutAction and autoPromoteRolloutBehavior, its former name; want only one of them")
	}
	if at := document.Child(v, "failOnTimeout"); !document.Neutral(v.Node.Get("failOnTimeout")) && document.Neutral(v.Node.Get("waitUntilHealthStatus")) {
		d.Errorf(at, document.WrongValue, "failOnTimeout is about the wait; want waitUntilHealthStatus beside it")
	}
	return s
}

func (s *rollout) wait(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"healthStatus": d.Word(&s.Health,
			string(gitops.Healthy), string(gitops.Progressing), string(gitops.Degraded), string(gitops.Suspended), string(gitops.Missing), string(gitops.HealthUnknown)),
		"healthMessage": func(v yamldoc.Value) {
			s.Message = d.String(v)
			if _, err := regexp.Compile(s.Message.Value); err != nil {
				d.Errorf(v, document.WrongValue, "found %q, which isn't a regular expression: %v", s.Message.Value, err)
			}
		},
	})
	d.Need(v, "healthStatus")
}

// Start has a delegate ask how the Rollout is.
func (s *rollout) Start(in step.In) (step.Action, error) {
	spec := errand.Rollout{Namespace: s.Namespace.Value, Name: s.Name.Value, Action: s.Action.Value, Health: gitops.HealthCode(s.Health.Value), Message: s.Message.Value, Fail: s.Fail.Value}
	if spec.Action == "" {
		spec.Action = s.Former.Value
	}
	return applications(in, errand.Applications{
		Op: errand.OpRollout, Choice: errand.Choice{Named: []errand.Named{{Agent: s.Agent.Value, Name: s.App.Value}}}, Rollout: &spec,
	})
}

// finish gives what the delegate says of it.
func (s *rollout) finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
