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

// appDetailsType is the step type GitOpsGetAppDetails: it tells what is known of
// applications (semantics/gitops §17).
//
// Outputs: gitops.applications, as of GitOpsSync, each with app: an Application as Argo
// CD writes it, with its status. The questions are asked by delegate/gitops/errands.
func appDetailsType() step.Type {
	return step.Type{Name: string(errand.OpDetails), Service: true, Looks: true, New: decodeAppDetails, Finish: step.Finisher((*appDetails).finish)}
}

// appDetails is the step's spec.
type appDetails struct {
	Choice choice
	Hard   yamldoc.Field[bool]
}

func decodeAppDetails(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &appDetails{}
	var one namedApp
	keys := document.Merge(s.Choice.keys(d), document.Keys{
		"agentId":           d.Reference(ref.GitOpsAgent, &one.Agent),
		"applicationName":   d.Text(&one.Name),
		"hardRefresh":       d.Flag(&s.Hard),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	delete(keys, "applicationLabels")
	d.Fields(v, keys)
	d.OneOf(v, "applicationName", "applicationsList", "applicationRegex")
	if one.Name.Set {
		d.Need(v, "agentId")
		s.Choice.Named = []namedApp{one}
	}
	return s
}

// Start has a delegate ask for what is known.
func (s *appDetails) Start(in step.In) (step.Action, error) {
	return applications(in, errand.Applications{Op: errand.OpDetails, Choice: s.Choice.chosen(), Hard: s.Hard.Value})
}

// finish says in the step's message how many there are.
func (s *appDetails) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return counted(r, "found")
}
