package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
)

// TestVerdictsAreOfStepsByThemselves: what policies came to in a step is told by the step,
// and of several attempts the last counts.
func TestVerdictsAreOfStepsByThemselves(t *testing.T) {
	t.Parallel()
	custom := func(id, node string, status policy.Status) policy.Evaluation {
		return policy.Evaluation{ID: id, Type: policy.Custom, Action: policy.OnStep, Entity: "step check of pipeline web", Node: node, Status: status}
	}
	facts := plan.Facts{}
	for _, e := range []policy.Evaluation{ // newest first
		custom("e6", "pipeline.stages.b.spec.execution.steps.check", policy.Refused),
		custom("e5", "pipeline.stages.a.spec.execution.steps.check", policy.Warned),
		custom("e4", "pipeline.stages.a.spec.execution.steps.check", policy.Refused),
		{ID: "e3", Type: policy.OfPipeline, Action: policy.OnStepStart, Entity: "step check of pipeline web", Status: policy.Refused},
		{ID: "e2", Type: policy.OfPipeline, Action: policy.OnRun, Entity: "pipeline web", Status: policy.Pass},
	} {
		judged(e, facts)
	}
	want := plan.Facts{
		"policies of a.spec.execution.steps.check": "warning, evaluation e5",
		"policies of b.spec.execution.steps.check": "error, evaluation e6",
		"policies of pipeline web":                 "pass, evaluation e2",
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
