// Package chart is the step that a Deployment stage begins with when its
// service's chart has fetchHelmChartMetadata: what the chart says of itself is
// fetched once, for all that comes after it in the stage
// (semantics/entities §2.3).
//
// Nobody writes it down: pkg/planning puts it there. Outputs: output.chart, which
// expressions read as <+manifests.ID.helm...>. The chart is read by
// delegate/helm.
package chart

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: plan.TypeChart, New: decode, Finish: step.Finisher((*Spec).finish)}
}

// Spec is the step's spec, which is empty.
type Spec struct{}

func decode(*document.Decoder, yamldoc.Value) step.Spec { return &Spec{} }

// Start has a delegate read the chart. If the one that is deployed isn't to be
// described, there is nothing to read.
func (*Spec) Start(in step.In) (step.Action, error) {
	c, err := in.Chart()
	if err != nil {
		return step.Action{}, err
	}
	if c.Spec == nil {
		return step.Action{Done: &plan.Outcome{Status: plan.Success}}, nil
	}
	w, err := step.Work(in, c.Spec)
	if err != nil {
		return step.Action{}, err
	}
	selectors := append(in.Selectors[:len(in.Selectors):len(in.Selectors)], c.Selectors...)
	return step.Action{Task: &step.Task{Kind: c.Kind, Payload: w, Selectors: selectors}}, nil
}

// finish says in the step's message which chart it is.
func (*Spec) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	if len(r.Outputs) == 0 {
		return o, nil
	}
	var out struct {
		Output struct{ Chart lookup.ChartFound }
	}
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the chart: %w", err)
	}
	o.Message = out.Output.Chart.Name + " " + out.Output.Chart.Version
	return o, nil
}
