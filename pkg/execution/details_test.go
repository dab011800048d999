package execution

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/store"
)

// What is told of a step is bounded, and says how much more there is. What is
// kept of a secret isn't among it.
func TestWhatIsToldOfAStepIsBounded(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0).UTC()
	id := plan.NodeID("pipeline.stages.a.spec.execution.steps.make")
	step := &plan.Node{ID: id, Kind: plan.KindStep, Identifier: "make"}
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Children: []*plan.Node{
		{ID: "pipeline.stages.a", Kind: plan.KindStage, Identifier: "a", Children: []*plan.Node{step}},
	}}
	outputs := map[string]any{
		"a secret":  map[string]any{"$secret": "output:acme:canary"},
		"a list":    []any{1, map[string]any{"inner": map[string]any{"$secret": "output:acme:canary"}}},
		"empty":     map[string]any{},
		"quo\"ted<": "x",
	}
	for i := range maxOutputs {
		outputs[fmt.Sprintf("v%03d", i)] = i
	}
	doc, err := json.Marshal(map[string]any{"output": outputs})
	must(t, err)
	state := plan.State{Status: plan.Failed, Attempt: maxAttempts + 5, StartedAt: at, EndedAt: at.Add(time.Hour), Message: "broke", Outputs: doc}
	for i := 1; i < state.Attempt; i++ {
		state.History = append(state.History, plan.Attempt{Number: i, Status: plan.Failed, StartedAt: at, EndedAt: at.Add(time.Duration(i) * time.Minute)})
	}
	s := service(setup(t), func() time.Time { return at })
	begun(t, s, store.Execution{ID: "x1", Status: plan.Failed, StartedAt: at}, root, store.Node{ID: id, State: state})

	d, err := s.Details(t.Context(), "x1", "make")
	must(t, err)
	if len(d.Outputs) != maxOutputs || d.Hidden != 4 {
		t.Errorf("%d outputs are told and %d hidden; want %d and 4", len(d.Outputs), d.Hidden, maxOutputs)
	}
	told := map[string]NodeOutput{}
	for _, o := range d.Outputs {
		told[o.Name] = o
	}
	for name, want := range map[string]NodeOutput{
		`output["a secret"]`:  {Value: redact.Mask, Secret: true, Expression: `<+` + string(id) + `.output["a secret"]>`},
		`output["a list"]`:    {Value: `[1,{"inner":"` + redact.Mask + `"}]`, Expression: `<+` + string(id) + `.output["a list"]>`},
		"output.empty":        {Value: "{}", Expression: "<+" + string(id) + ".output.empty>"},
		`output["quo\"ted<"]`: {Value: "x"},
		"output.v001":         {Value: "1", Expression: "<+" + string(id) + ".output.v001>"},
	} {
		want.Name = name
		if told[name] != want {
			t.Errorf("told is %+v; want %+v", told[name], want)
		}
	}
	if all, err := json.Marshal(d); err != nil || strings.Contains(string(all), "canary") {
		t.Errorf("what is kept of a secret is told (%v)", err)
	}
	if n := len(d.Attempts); n != maxAttempts || d.Attempts[n-1].Number != state.Attempt || d.Attempts[n-1].Message != "broke" || !d.Attempts[n-1].StartedAt.Equal(at.Add(time.Duration(state.Attempt-1)*time.Minute)) {
		t.Errorf("of %d attempts are told %+v", state.Attempt, d.Attempts)
	}
}
