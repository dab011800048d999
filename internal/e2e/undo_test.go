package e2e_test

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// Pipeline spec §5.4, post-deployment rollback: the rollback steps of an
// execution that succeeded run in reverse, in an execution of their own, and
// read what it came to; once, and only the pipeline's latest.
func TestRollingBackAfterwards(t *testing.T) {
	t.Parallel()
	onEveryHost(t, rollingBackAfterwards)
}

func rollingBackAfterwards(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	file := t.TempDir() + "/log"
	set := `{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: X, type: String, value: X}], source: {type: Inline, spec: {script: X=7}}}}}`
	stage := func(id, steps, back string) string {
		return replace(`{stage: {identifier: ID, name: ID, type: Custom, spec: {execution: {steps: [STEPS], rollbackSteps: [BACK]}}}}`, "ID", id, "STEPS", steps, "BACK", back)
	}
	back := func(id, more string) string {
		return shell("back_"+id, `echo `+id+` <+pipeline.executionMode> <+pipeline.stages.one.spec.execution.steps.set.output.outputVariables.X> >> `+file+more)
	}
	s.Apply(t, "pipeline: {identifier: p, name: p, stages: ["+strings.Join([]string{
		stage("one", set, back("one", "")), stage("none", shell("fine", "true"), ""),
		stage("two", shell("fine", "true"), back("two", "; [ -e "+file+".good ]")), `{stage: {identifier: never, name: never, type: Custom, when: {pipelineStatus: Failure}, spec: {execution: {steps: [` + shell("fine", "true") + `], rollbackSteps: [` + back("never", "") + `]}}}}`,
	}, ", ")+"]}")
	old := run(t, s, "p", "Success", nil)
	e := run(t, s, "p", "Success", nil)
	undo := func(id, refused string) string {
		t.Helper()
		var made e2e.Execution
		err := s.Call(t.Context(), "POST", "/v1/executions/"+id+"/rollback", nil, &made)
		if refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%v; want %q", err, refused)
			}
			return ""
		}
		if err != nil {
			t.Fatal(err)
		}
		return made.ID
	}
	undo(old.ID, "only the latest of a pipeline can be rolled back")
	first := undo(e.ID, "")
	got := reaches(t, s, first, "p", "Failed") // its rollback step fails
	for node, want := range map[string]string{"two": "Failed", "one": "Success", "none": "Success", "back_one": "Success", "never": "Skipped"} {
		if n := got.Root.Find(node); n.Status != want {
			t.Errorf("%s is %s, want %s", node, n.Status, want)
		}
	}
	if log, want := read(t, file), "two POST_EXECUTION_ROLLBACK 7\none POST_EXECUTION_ROLLBACK 7\n"; log != want {
		t.Errorf("the rollback did %q, want %q", log, want)
	}
	if err := os.WriteFile(file+".good", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	second := undo(e.ID, "") // a rollback that failed may be tried again
	reaches(t, s, second, "p", "Success")
	undo(e.ID, "already")
	undo(second, "can't be rolled back")
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+second+"/retry", nil, nil); err == nil || !strings.Contains(err.Error(), "has rolled") {
		t.Errorf("a rollback was repeated: %v", err)
	}
	third := run(t, s, "p", "Success", nil)
	reaches(t, s, undo(third.ID, ""), "p", "Success")
}
