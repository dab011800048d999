package chart_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/chart"
	"github.com/slipway-cd/slipway/pkg/task"
)

func start(c step.Chart, err error) (step.Action, error) {
	in := step.In{Execution: "e", StageNode: "s", Node: "n", Selectors: []string{"zone"}, Chart: func() (step.Chart, error) { return c, err }}
	return chart.Type().Decode(nil, nil).Start(in)
}

func TestStart(t *testing.T) {
	t.Parallel()
	got, err := start(step.Chart{Kind: "helm", Spec: map[string]string{"op": "Describe"}, Selectors: []string{"near"}}, nil)
	want := step.Action{Task: &step.Task{
		Kind: "helm", Selectors: []string{"zone", "near"},
		Payload: task.Work{Execution: "e", Stage: "s", Step: "n", Spec: json.RawMessage(`{"op":"Describe"}`)},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, action (-want +got):\n%s", err, diff)
	}
	if got, err := start(step.Chart{}, nil); err != nil || got.Done == nil || got.Done.Status != plan.Success {
		t.Errorf("nothing to ask: %+v, %v; want that it is done", got, err)
	}
	if _, err := start(step.Chart{}, errors.New("no connector")); err == nil {
		t.Error("a chart that can't be resolved is no error")
	}
}

func TestFinishSaysWhichChart(t *testing.T) {
	t.Parallel()
	outputs := json.RawMessage(`{"output":{"chart":{"manifest":"web","name":"nginx","version":"1.2.3"}}}`)
	o, err := chart.Type().Finish(chart.Type().Decode(nil, nil), step.In{}, task.Result{Status: task.Succeeded, Outputs: outputs})
	if err != nil || o.Message != "nginx 1.2.3" || o.Status != plan.Success {
		t.Errorf("%+v, %v; want the message nginx 1.2.3", o, err)
	}
	o, err = chart.Type().Finish(chart.Type().Decode(nil, nil), step.In{}, task.Result{Status: task.Failed, Message: "no such chart"})
	if err != nil || o.Message != "no such chart" || o.Status != plan.Failed {
		t.Errorf("%+v, %v; want the failure as it is", o, err)
	}
}
