package e2e_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §8.4 and §8.5: an execution goes on where another failed,
// with what that one's stages came to; and only some stages run.
func TestGoingOnFromAStage(t *testing.T) {
	t.Parallel()
	onEveryHost(t, goingOnFromAStage)
}

const resumable = `pipeline:
  identifier: resumable
  name: Resumable
  orgIdentifier: default
  projectIdentifier: default_project
  allowStageExecutions: true
  stages:
    - stage: {identifier: make, name: Make, type: Custom, spec: {execution: {steps: [MAKE]}}}
    - parallel:
        - stage: {identifier: fine, name: Fine, type: Custom, spec: {execution: {steps: [COUNT]}}}
        - stage: {identifier: use, name: Use, type: Custom, spec: {execution: {steps: [USE]}}}
    - stage: {identifier: last, name: Last, type: Custom, spec: {execution: {steps: [LAST]}}}
`

func goingOnFromAStage(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	dir := t.TempDir()
	made := `{step: {identifier: make, name: make, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: V, type: String, value: V}], source: {type: Inline, spec: {script: 'echo x >> ` + dir + `/made; V=made'}}}}}`
	s.Apply(t, replace(resumable,
		"MAKE", made, "COUNT", shell("count", "echo x >> "+dir+"/fine"), "LAST", shell("last", "true"),
		"USE", shell("use", `[ "<+pipeline.stages.make.spec.execution.steps.make.output.outputVariables.V>" = made ] && [ -e `+dir+`/go ]`)))
	first := run(t, s, "resumable", "Failed", nil)
	retry := func(body map[string]any) (string, error) {
		var e struct{ ID string }
		err := s.Call(ctx, "POST", "/v1/executions/"+first.ID+"/retry", body, &e)
		return e.ID, err
	}
	if _, err := retry(map[string]any{"fromStage": "nope"}); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("from a stage that isn't there: %v; want 404", err)
	}
	if err := os.WriteFile(dir+"/go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lines := func(file string) int {
		data, err := os.ReadFile(dir + "/" + file)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(data), "x")
	}
	for _, tt := range []struct {
		body       map[string]any
		made, fine int // times
	}{
		{map[string]any{"fromFailed": true}, 1, 1},
		{map[string]any{"fromStage": "use", "all": true}, 1, 2},
		{map[string]any{}, 2, 3},
	} {
		id, err := retry(tt.body)
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Until(ctx, id, e2e.Ended)
		if err != nil {
			t.Fatal(err)
		}
		if e.Status != "Success" || e.Root.Find("last").Status != "Success" || e.Root.Find("make").Status != "Success" {
			t.Errorf("%v: it ended %s: %s", tt.body, e.Status, e.Message)
		}
		if lines("made") != tt.made || lines("fine") != tt.fine {
			t.Errorf("%v: make ran %d times, fine %d; want %d and %d", tt.body, lines("made"), lines("fine"), tt.made, tt.fine)
		}
	}
	var e struct{ ID string }
	if err := s.Call(ctx, "POST", "/v1/pipelines/resumable/executions", map[string]any{"stages": []string{"last", "fine"}}, &e); err != nil {
		t.Fatal(err)
	}
	some, err := s.Until(ctx, e.ID, e2e.Ended)
	if err != nil || some.Status != "Success" || some.Root.Find("use") != nil || some.Root.Find("fine") == nil {
		t.Errorf("only some stages: %v, it ended %s: %s", err, some.Status, some.Message)
	}
	if err := s.Call(ctx, "POST", "/v1/pipelines/resumable/executions", map[string]any{"stages": []string{"none"}}, nil); err == nil || !strings.Contains(err.Error(), "no stage none") {
		t.Errorf("a stage that isn't there: %v", err)
	}
}
