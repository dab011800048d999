package custom

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

const findsInstances = "FetchInstanceScript"

// fetchInstancesType is the step type FetchInstanceScript: it finds the
// instances of a custom deployment by the script of its deployment template
// (semantics/pipeline §9.6).
//
// Outputs: deploymentInfoOutcome.serverInstanceInfoList. The script is run and
// what it writes is read by delegate/instances.
func fetchInstancesType() step.Type {
	return step.Type{Name: findsInstances, Deploys: true, New: decodeFetchInstances, Finish: step.Finisher((*fetchInstances).finish)}
}

// fetchInstances is the step's spec: all that it says is which delegates may run it.
type fetchInstances struct{}

func decodeFetchInstances(d *document.Decoder, v yamldoc.Value) step.Spec {
	d.Fields(v, document.Keys{
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return &fetchInstances{}
}

// Start gives the script to a delegate.
func (*fetchInstances) Start(in step.In) (step.Action, error) {
	target, err := step.TargetOf[*Instances](in)
	if err != nil {
		return step.Action{}, err
	}
	return step.Deploy(in, Kind, nil, Place{Script: *target})
}

// finish says in the step's message how many there are.
func (*fetchInstances) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	if o.Status != plan.Success {
		return o, nil
	}
	var out struct {
		Found task.InstancesFound `json:"deploymentInfoOutcome"`
	}
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the instances: %w", err)
	}
	if o.Message = fmt.Sprintf("found %d instances", len(out.Found.List)); len(out.Found.List) == 1 {
		o.Message = "found one instance"
	}
	return o, nil
}
