package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A loop whose number an expression gives is counted when it begins. It fails
// by its strategy where the execution would have more nodes than it may.
func TestALoopThatBringsTooManyNodesFails(t *testing.T) {
	t.Parallel()
	onEveryHost(t, tooManyNodes)
}

func tooManyNodes(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	const pipeline = `pipeline:
  identifier: wide
  name: Wide
  orgIdentifier: default
  projectIdentifier: default_project
  variables: [{name: n, type: String, value: "199"}]
  stages:
    - stage:
        identifier: few
        name: Few
        type: Custom
        spec: {execution: {steps: [STEP]}}
        strategy: {parallelism: "<+pipeline.variables.n.substring(0, 1)>"}
    - stage:
        identifier: many
        name: Many
        type: Custom
        strategy: {parallelism: <+pipeline.variables.n>}
        failureStrategies: [{onFailure: {errors: [ResourceLimitsFailure], action: {type: Ignore}}}]
        spec: {execution: {steps: [{stepGroup: {identifier: g, name: g, strategy: {repeat: {times: 100}}, steps: [STEP]}}]}}
    - stage:
        identifier: after
        name: After
        type: Custom
        spec: {execution: {steps: [STEP]}}
`
	step := `{step: {identifier: w, name: w, type: Wait, spec: {duration: 1s}, when: {stageStatus: Failure}}}`
	s.Apply(t, strings.ReplaceAll(pipeline, "STEP", step))
	e := s.Run(t, "wide", nil)
	many := e.Root.Find("many")
	if e.Status != "IgnoreFailed" || many.Status != "IgnoreFailed" || !strings.Contains(many.Message, "more than 20000 nodes") || len(many.Children) > 0 {
		t.Errorf("the execution is %s, the loop %s with %d iterations: %q", e.Status, many.Status, len(many.Children), many.Message)
	}
	if after := e.Root.Find("after"); after.Status != "Success" {
		t.Errorf("the stage after it is %s; want it to run", after.Status)
	}
	if few := e.Root.Find("few"); len(few.Children) != 1 {
		t.Errorf("the loop before it has %d iterations, want 1", len(few.Children))
	}
	var rehearsed struct {
		Root struct{ Children []struct{ Unknown []string } }
	}
	if err := s.Call(t.Context(), "POST", "/v1/pipelines/wide/plan", map[string]any{}, &rehearsed); err != nil {
		t.Fatal(err)
	}
	if u := rehearsed.Root.Children[1].Unknown; len(u) != 1 || !strings.Contains(u[0], "more than 20000 nodes") {
		t.Errorf("the plan says %q of the loop; want why it can't begin", u)
	}
}

// What is written out is refused when it is saved: nothing is left to plan.
func TestNestedLoopsThatAreWrittenOutAreRefused(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{})
	steps := `{step: {identifier: w, name: w, type: Wait, spec: {duration: 1s}}}`
	for _, id := range []string{"a", "b", "c", "d"} {
		steps = "{stepGroup: {identifier: " + id + ", name: g, strategy: {repeat: {times: 256}}, steps: [" + steps + "]}}"
	}
	doc := "pipeline: {identifier: bomb, name: bomb, orgIdentifier: default, projectIdentifier: default_project, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + steps + "]}}}}]}"
	err := s.Call(t.Context(), "PUT", "/v1/entities", doc, nil)
	if err == nil || !strings.Contains(err.Error(), "more than 20000 nodes") {
		t.Errorf("saving gives %v; want it refused for its nodes", err)
	}
}
