package gitops

import (
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// fetchLinkedAppsType is the step type GitOpsFetchLinkedApps: it finds the
// applications of the stage's service on its clusters (semantics/gitops §17).
//
// Outputs: gitops.applications, each with name, agentIdentifier and url. The
// question is asked by delegate/gitops/errands.
func fetchLinkedAppsType() step.Type {
	return step.Type{Name: string(errand.OpFetch), Service: true, Looks: true, New: decodeFetch, Finish: step.Finisher((*fetch).finish)}
}

// fetch is the step's spec.
type fetch struct {
	AnyService yamldoc.Field[bool] // filterByServiceEnvCluster, which takes those of any service
}

func decodeFetch(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &fetch{}
	d.Fields(v, document.Keys{
		"filterByServiceEnvCluster": d.Flag(&s.AnyService),
		"delegateSelectors":         d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate ask which there are.
func (s *fetch) Start(in step.In) (step.Action, error) {
	return applications(in, errand.Applications{Op: errand.OpFetch, Choice: errand.Choice{AnyService: s.AnyService.Value}})
}

// finish says in the step's message how many there are.
func (s *fetch) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	return counted(r, "found")
}

// counted is the outcome of a task about applications, with their number.
func counted(r task.Result, verb string) (plan.Outcome, error) {
	o := step.Outcome(r)
	if o.Status != plan.Success || o.Message != "" {
		return o, nil
	}
	out, err := decoded[errand.Done](r.Outputs)
	if err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the applications: %w", err)
	}
	if o.Message = fmt.Sprintf("%s %d applications", verb, len(out.GitOps.Applications)); len(out.GitOps.Applications) == 1 {
		o.Message = verb + " one application"
	}
	return o, nil
}
