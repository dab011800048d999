package e2e_test

import (
	"context"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

const withInputs = `pipeline:
  identifier: p
  name: p
  variables:
    - {name: image, type: String, value: <+input>}
    - {name: tier, type: String, value: "<+input>.default(gold).allowedValues(gold,silver)"}
    - {name: region, type: String, value: <+input>.regex(eu-\d)}
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  identifier: a
                  name: a
                  type: ShellScript
                  timeout: <+input>.default(1m)
                  spec:
                    shell: Bash
                    onDelegate: true
                    source:
                      type: Inline
                      spec:
                        script: |
                          echo "<+pipeline.variables.image> <+pipeline.variables.tier> <+pipeline.variables.region>"
                          echo '<+inputSet>' | tr -d ' \n' | grep -o '"name":"[a-z]*"' | wc -l`

const inputSets = `inputSet:
  identifier: base
  name: base
  pipeline:
    identifier: p
    variables:
      - {name: image, type: String, value: "nginx:1"}
      - {name: region, type: String, value: eu-1}
---
inputSet:
  identifier: cheap
  name: cheap
  pipeline:
    identifier: p
    variables: [{name: tier, type: String, value: silver}]
---
overlayInputSet:
  identifier: both
  name: both
  pipelineIdentifier: p
  inputSetReferences: [base, cheap]`

// Input sets are merged in their order, an overlay's in its place, values of
// the run over all; what doesn't fit is refused with its place, and nothing
// is started (semantics/pipeline §2.4).
func TestInputSetsAndOverlays(t *testing.T) {
	t.Parallel()
	onEveryHost(t, inputSetsAndOverlays)
}

func inputSetsAndOverlays(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, withInputs+"\n---\n"+inputSets)
	executions := func(in map[string]any) (e2e.Execution, error) {
		var e e2e.Execution
		err := s.Call(t.Context(), "POST", "/v1/pipelines/p/executions", in, &e)
		return e, err
	}
	for _, wrong := range []struct {
		in   map[string]any
		want []string // in the error
	}{
		{map[string]any{"inputSets": []string{"base"}, "inputsYaml": "variables:\n- {name: tier, value: tin}"}, []string{"variables.tier", `"line":2`, "VALUE_NOT_ALLOWED"}},
		{map[string]any{"inputSets": []string{"base"}, "inputs": map[string]string{"variables.region": "us-1"}}, []string{"variables.region", "VALUE_NOT_ALLOWED"}},
		{map[string]any{"inputSets": []string{"cheap"}}, []string{"variables.image", "variables.region", "MISSING_INPUT"}},
		{map[string]any{"inputSets": []string{"both"}, "inputsYaml": "stages: [{stage: {identifier: t}}]"}, []string{"stages.t", "NOT_AN_INPUT"}},
		{map[string]any{"inputSets": []string{"base", "none"}}, []string{"no input set", "none"}},
	} {
		_, err := executions(wrong.in)
		for _, want := range wrong.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v gave %v; want it to say %s", wrong.in, err, want)
			}
		}
	}
	var list struct{ Executions []e2e.Execution }
	if err := s.Call(t.Context(), "GET", "/v1/executions?pipeline=p", nil, &list); err != nil || len(list.Executions) != 0 {
		t.Fatalf("after five refusals there are %d executions, %v; want none", len(list.Executions), err)
	}
	for _, good := range []struct {
		in   map[string]any
		want string
	}{
		{map[string]any{"inputSets": []string{"base", "cheap"}}, "nginx:1 silver eu-1"},
		{map[string]any{"inputSets": []string{"both"}, "inputsYaml": "variables: [{name: tier, value: gold}]", "inputs": map[string]string{"variables.image": "nginx:2"}}, "nginx:2 gold eu-1"},
	} {
		begun, err := executions(good.in)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
		defer cancel()
		e, err := s.Until(ctx, begun.ID, e2e.Ended)
		if err != nil || e.Status != "Success" {
			t.Fatalf("%s %s, %v", e.Status, e.Message, err)
		}
		// All three variables are in <+inputSet>, as JSON.
		if log := logOf(t, s, e.ID, e.Root.Find("a")); !strings.Contains(log, good.want) || !strings.Contains(log, "3") {
			t.Errorf("%v: the log is %s; want %s, and three variables", good.in, log, good.want)
		}
	}
}

// A stage with the runMode Manual waits until somebody runs it; what stands
// beside it goes on.
func TestAStageThatIsRunByHand(t *testing.T) {
	t.Parallel()
	onEveryHost(t, aStageThatIsRunByHand)
}

func aStageThatIsRunByHand(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	stage := func(id, more string) string {
		return `{stage: {identifier: ` + id + `, name: ` + id + `, type: Custom` + more + `, spec: {execution: {steps: [` + shell("run_"+id, "true") + `]}}}}`
	}
	s.Apply(t, "pipeline: {identifier: by_hand, name: by_hand, stages: [{parallel: ["+
		stage("waits", ", runMode: {type: Manual, timeout: 1h}, timeout: 10m")+", "+stage("beside", ", runMode: {type: Auto}")+"]}, "+
		stage("late", `, runMode: {type: Manual, timeout: 1s}, failureStrategies: [{onFailure: {errors: [Timeout], action: {type: Ignore}}}]`)+"]}")
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	id := s.Begin(t, "by_hand", nil)
	e, err := s.Until(ctx, id, func(e e2e.Execution) bool {
		waits, beside := e.Root.Find("waits"), e.Root.Find("beside")
		return e2e.Ended(e) || waits != nil && beside != nil && waits.Status == "InputWaiting" && beside.Status == "Success"
	})
	if err != nil || e.Status != "InputWaiting" || e.Root.Find("run_waits").Status != "NotStarted" {
		t.Fatalf("before it is run: %s, %v", e.Status, err)
	}
	if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/waits/inputs", map[string]any{}, nil); err != nil {
		t.Fatal(err)
	}
	if e, err = s.Until(ctx, id, e2e.Ended); err != nil || e.Status != "IgnoreFailed" {
		t.Fatalf("%s %s, %v", e.Status, e.Message, err)
	}
	for node, want := range map[string]string{"run_waits": "Success", "late": "IgnoreFailed", "run_late": "NotStarted"} {
		if n := e.Root.Find(node); n.Status != want {
			t.Errorf("%s is %s, want %s", node, n.Status, want)
		}
	}
}

const asksLate = `pipeline:
  identifier: late
  name: late
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        variables:
          - {name: where, type: String, value: "<+input>.executionInput().allowedValues(eu,us)"}
        spec:
          execution:
            steps:
              - step:
                  identifier: a
                  name: a
                  type: ShellScript
                  timeout: 5m
                  spec:
                    shell: Bash
                    onDelegate: true
                    environmentVariables:
                      - {name: WHO, type: String, value: <+input>.executionInput()}
                      - {name: HOW, type: String, value: <+input>.executionInput().default(warm)}
                    source: {type: Inline, spec: {script: 'echo "$WHO $HOW <+stage.variables.where>"'}}
              - step:
                  identifier: b
                  name: b
                  type: ShellScript
                  timeout: 15s
                  spec:
                    shell: Bash
                    onDelegate: true
                    environmentVariables:
                      - {name: X, type: String, value: <+input>.default(unasked).executionInput()}
                    source: {type: Inline, spec: {script: 'echo "$X <+execution.steps.a.spec.environmentVariables.WHO>"'}}
                  failureStrategies:
                    - onFailure: {errors: [InputTimeoutError], action: {type: ProceedWithDefaultValues}}`

// Inputs that are asked for while the pipeline runs: a stage and a step wait
// for theirs, and one that gets none in time goes on with its default
// (semantics/pipeline §2.2).
func TestInputsWhileItRuns(t *testing.T) {
	t.Parallel()
	onEveryHost(t, inputsWhileItRuns)
}

func inputsWhileItRuns(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, asksLate)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	id := s.Begin(t, "late", nil)
	waits := func(node string) {
		t.Helper()
		e, err := s.Until(ctx, id, func(e e2e.Execution) bool {
			n := e.Root.Find(node)
			return e2e.Ended(e) || n != nil && n.Status == "InputWaiting"
		})
		if err != nil || e.Status != "InputWaiting" {
			t.Fatalf("waiting for %s: %s, %v", node, e.Status, err)
		}
	}
	give := func(node string, body any) error {
		return s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/"+node+"/inputs", body, nil)
	}
	byPath := func(path, value string) any { return map[string]any{"inputs": map[string]string{path: value}} }

	waits("s")
	if err := give("s", byPath("variables.where", "mars")); err == nil || !strings.Contains(err.Error(), "isn't one of eu, us") {
		t.Errorf("a value that isn't allowed: %v", err)
	}
	if err := give("s", byPath("variables.where", "eu")); err != nil {
		t.Fatal(err)
	}
	waits("a")
	if err := give("a", byPath("spec.environmentVariables.HOW", "cold")); err == nil || !strings.Contains(err.Error(), "spec.environmentVariables.WHO: a value is needed") {
		t.Errorf("a part of the values: %v", err)
	}
	if err := give("a", map[string]any{"inputsYaml": "spec: {environmentVariables: [{name: WHO, value: Ada}]}"}); err != nil {
		t.Fatal(err)
	}
	e, err := s.Until(ctx, id, e2e.Ended)
	if err != nil || e.Status != "Success" {
		t.Fatalf("%s %s, %v", e.Status, e.Message, err)
	}
	for node, want := range map[string]string{"a": "Ada warm eu", "b": "unasked Ada"} {
		if log := logOf(t, s, id, e.Root.Find(node)); !strings.Contains(log, want) {
			t.Errorf("the log of %s is %s; want %s", node, log, want)
		}
	}
	if err := give("a", byPath("spec.environmentVariables.WHO", "Bob")); err == nil || !strings.Contains(err.Error(), "doesn't wait for inputs") {
		t.Errorf("an answer after the end: %v", err)
	}
}
