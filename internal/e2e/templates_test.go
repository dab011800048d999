package e2e_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// templatesFolder holds the example of all kinds of template.
const templatesFolder = "../../examples/templates"

func templateDocument(t *testing.T, name string) string {
	t.Helper()
	return read(t, filepath.Join(templatesFolder, name+".yaml"))
}

// TestTemplates runs a pipeline that is a template of stages of templates of
// groups of templates of steps.
func TestTemplates(t *testing.T) {
	t.Parallel()
	onEveryHost(t, templates)
}

func templates(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	for _, name := range []string{"say", "talk", "meet", "day", "today"} {
		s.Apply(t, templateDocument(t, name))
	}
	e := run(t, s, "today", "Success", map[string]string{"stages.morning.variables.who": "hello"})
	for _, id := range []string{"first", "check"} {
		if n := e.Root.Find(id); n.Status != "Success" {
			t.Errorf("%s is %s: %s", id, n.Status, n.Message)
		}
	}
}

// TestRunningExecutionsKeepTheirTemplates: a version that is changed or made
// stable while an execution runs is the next one's.
func TestRunningExecutionsKeepTheirTemplates(t *testing.T) {
	t.Parallel()
	onEveryHost(t, runningKeepTemplates)
}

func runningKeepTemplates(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	say := templateDocument(t, "say")
	s.Apply(t, say)
	s.Apply(t, one("p", `{step: {identifier: ask, name: ask, type: HarnessApproval, timeout: 5m, spec: {approvalMessage: 'go on', includePipelineExecutionHistory: true,
  approvers: {userGroups: [_project_all_users], minimumCount: 1}}}},
  {step: {identifier: say, name: say, template: {templateRef: say, templateInputs: {type: ShellScript, spec: {environmentVariables: [{name: WORD, type: String, value: bye}]}}}}}`, ""))
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	finish := func(want string) string {
		t.Helper()
		id := s.Begin(t, "p", nil)
		if _, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("ask").Status == "ApprovalWaiting" }); err != nil {
			t.Fatal(err)
		}
		if want == "one bye" { // changed while the first execution waits
			s.Apply(t, strings.NewReplacer("v1", "v2", "one $WORD", "two $WORD").Replace(say))
			if err := s.Call(ctx, "PUT", "/v1/templates/say/stable", map[string]string{"versionLabel": "v2"}, nil); err != nil {
				t.Fatal(err)
			}
			s.Apply(t, strings.Replace(say, "one $WORD", "never $WORD", 1))
		}
		if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/ask/approval", map[string]any{"action": "APPROVE"}, nil); err != nil {
			t.Fatal(err)
		}
		e, err := s.Until(ctx, id, e2e.Ended)
		if err != nil || e.Status != "Success" {
			t.Fatalf("%v, %s: %s", err, e.Status, e.Message)
		}
		if log := logOf(t, s, id, e.Root.Find("say")); !strings.Contains(log, want) {
			t.Errorf("it said %s; want %s", log, want)
		}
		return id
	}
	finish("one bye")
	finish("two bye")
}
