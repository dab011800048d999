package service_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/service"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

func start(a step.Artifact, err error) (step.Action, error) {
	in := step.In{Selectors: []string{"zone"}, Artifact: func() (step.Artifact, error) { return a, err }}
	return service.Type().Decode(nil, nil).Start(in)
}

func TestStart(t *testing.T) {
	t.Parallel()
	work := &lookup.Artifact{Type: "DockerRegistry", Choice: lookup.Choice{Pattern: ".*"}}
	got, err := start(step.Artifact{Task: work, Selectors: []string{"near"}}, nil)
	want := step.Action{Task: &step.Task{Kind: task.KindArtifact, Payload: work, Selectors: []string{"zone", "near"}}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, action (-want +got):\n%s", err, diff)
	}
	if got, err := start(step.Artifact{}, nil); err != nil || got.Done == nil || got.Done.Status != plan.Success {
		t.Errorf("nothing to ask: %+v, %v; want that it is done", got, err)
	}
	if _, err := start(step.Artifact{}, errors.New("no connector")); err == nil {
		t.Error("a source that can't be resolved is no error")
	}
}

func TestFinishSaysWhatWasFound(t *testing.T) {
	t.Parallel()
	for outputs, want := range map[string]string{
		`{"output":{"artifactResults":{"primary":{"version":"1","image":"a/b:1"}}}}`: "a/b:1",
		`{"output":{"artifactResults":{"primary":{"version":"1"}}}}`:                 "1",
	} {
		r := task.Result{Status: task.Succeeded, Outputs: json.RawMessage(outputs)}
		o, err := service.Type().Finish(service.Type().Decode(nil, nil), step.In{}, r)
		if err != nil || o.Message != want || o.Status != plan.Success || string(o.Outputs) != outputs {
			t.Errorf("%+v, %v; want the message %s", o, err, want)
		}
	}
}
