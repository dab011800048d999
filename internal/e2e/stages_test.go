package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §14.38: only some stages run where the pipeline allows
// it; the others aren't there, and what is read of them must be given.
func TestCase38SomeOfTheStages(t *testing.T) {
	t.Parallel()
	onEveryHost(t, someOfTheStages)
}

func someOfTheStages(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	const two = `pipeline: {identifier: ID, name: ID, ALLOW stages: [
  {stage: {identifier: make, name: make, type: Custom, spec: {execution: {steps: [MAKE]}}}},
  {stage: {identifier: use, name: use, type: Custom, spec: {execution: {steps: [USE]}}}}]}`
	made := `{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: X, type: String, value: X}], source: {type: Inline, spec: {script: X=7}}}}}`
	const value = "<+pipeline.stages.make.spec.execution.steps.set.output.outputVariables.X>"
	use := shell("use", `[ "`+value+`" = 7 ] && [ "`+strings.Replace(value, "<+pipeline.", "<+", 1)+`" = 7 ]`)
	s.Apply(t, replace(two, "ID", "closed", "ALLOW", "", "MAKE", made, "USE", use)+"\n---\n"+
		replace(two, "ID", "open", "ALLOW", "allowStageExecutions: true,", "MAKE", made, "USE", use))
	begin := func(pipeline string, body map[string]any, refused string) e2e.Execution {
		t.Helper()
		var made e2e.Execution
		err := s.Call(t.Context(), "POST", "/v1/pipelines/"+pipeline+"/executions", body, &made)
		if refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v; want %q", err, refused)
			}
			return made
		}
		if err != nil {
			t.Fatal(err)
		}
		return finish(t, s, made.ID)
	}
	some := []string{"use"}
	begin("closed", map[string]any{"stages": some}, "stage executions are not allowed for pipeline [closed]")
	e := begin("open", map[string]any{"stages": some}, "")
	if e.Status != "Failed" || e.Root.Find("make") != nil || !strings.Contains(e.Message, `no stage \"make\"`) && !strings.Contains(e.Message, `no stage "make"`) {
		t.Errorf("without the value: %s: %s", e.Status, e.Message)
	}
	values := map[string]string{value: "7"}
	if e = begin("open", map[string]any{"stages": some, "expressionValues": values}, ""); e.Status != "Success" || e.Root.Find("make") != nil {
		t.Errorf("with the value: %s: %s", e.Status, e.Message)
	}
	again := e2e.Execution{}
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+e.ID+"/retry", nil, &again); err != nil {
		t.Fatal(err)
	}
	if e = finish(t, s, again.ID); e.Status != "Success" {
		t.Errorf("repeated, it has no value: %s: %s", e.Status, e.Message)
	}
	begin("open", map[string]any{"expressionValues": values}, "for runs of some of the stages")
	begin("open", map[string]any{"stages": []string{"make"}, "expressionValues": values}, "stage make runs")
	begin("open", map[string]any{"stages": some, "expressionValues": map[string]string{"<+pipeline.name>": "x"}}, "can't be given a value")
	begin("open", map[string]any{"stages": some, "expressionValues": map[string]string{value: "<+pipeline.name>"}}, "want a fixed value")
}

// semantics/pipeline §14.39: an execution goes on from the last failed stage
// with the earlier outputs, as one of its own, but not behind a stage that
// wasn't there.
func TestCase39GoingOnFromTheFailedStage(t *testing.T) {
	t.Parallel()
	onEveryHost(t, goingOnFromTheFailedStage)
}

func goingOnFromTheFailedStage(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	const stages = `pipeline: {identifier: p, name: p, stages: [MORE
  {stage: {identifier: make, name: make, type: Custom, spec: {execution: {steps: [MAKE]}}}},
  {stage: {identifier: use, name: use, type: Custom, spec: {execution: {steps: [USE]}}}}]}`
	made := `{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: X, type: String, value: X}], source: {type: Inline, spec: {script: X=7}}}}}`
	use := shell("use", `[ "<+pipeline.stages.make.spec.execution.steps.set.output.outputVariables.X>" = 7 ] && [ <+pipeline.executionId> != <+pipeline.resumedExecutionId> ] && [ <+pipeline.resumedExecutionId> = RESUMED ]`)
	s.Apply(t, replace(stages, "MORE", "", "MAKE", made, "USE", shell("use", "exit 1")))
	failed := run(t, s, "p", "Failed", nil)
	retry := func() (e e2e.Execution, err error) {
		return e, s.Call(t.Context(), "POST", "/v1/executions/"+failed.ID+"/retry", map[string]any{"fromFailed": true}, &e)
	}
	s.Apply(t, replace(stages, "MORE", `{stage: {identifier: added, name: added, type: Custom, spec: {execution: {steps: [`+shell("a", "true")+`]}}}},`, "MAKE", made, "USE", use))
	if _, err := retry(); err == nil || !strings.Contains(err.Error(), "409") {
		t.Errorf("behind a new stage: %v; want 409", err)
	}
	s.Apply(t, replace(stages, "MORE", "", "MAKE", made, "USE", strings.ReplaceAll(use, "RESUMED", failed.ID)))
	e, err := retry()
	if err != nil {
		t.Fatal(err)
	}
	if e.ID == failed.ID {
		t.Error("it has the same id")
	}
	if e = finish(t, s, e.ID); e.Status != "Success" {
		t.Errorf("it ended %s: %s", e.Status, e.Message)
	}
}
