package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// Outputs that are published under an alias are read in their scope and
// nowhere else; secret ones stay secret (semantics/pipeline §7.4).
func TestOutputAlias(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	publish := func(id, scope, value string) string {
		return fmt.Sprintf(`{step: {identifier: %s, name: x, type: ShellScript, spec: {shell: Bash, source: {type: Inline, spec: {script: "v=%s; t=hidden-%s"}},
  outputAlias: {key: build, scope: %s}, outputVariables: [{name: v, value: v}, {name: t, type: Secret, value: t}]}}}`, id, value, value, scope)
	}
	read := func(id, text string) string {
		return fmt.Sprintf(`{step: {identifier: %s, name: x, type: ShellScript, failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: Ignore}}}],
  spec: {shell: Bash, source: {type: Inline, spec: {script: "echo got %s"}}}}}`, id, text)
	}
	value := func(path string) string { return fmt.Sprintf(`<+exportedVariables.getValue('%s')>`, path) }
	s.Apply(t, `pipeline: {identifier: p, name: p, stages: [
 {stage: {identifier: s1, name: s1, type: Custom, spec: {execution: {steps: [`+strings.Join([]string{
		publish("a", "Pipeline", "1"), publish("b", "Stage", "2"),
		`{stepGroup: {identifier: g, name: g, steps: [` + publish("c", "StepGroup", "3") + "," + read("inner", value("stepGroup.build.v")+" "+value("stage.build.v")+" "+value("pipeline.build.t")) + `]}}`,
		read("outside", value("stepGroup.build.v")),
	}, ",\n")+`]}}}},
 {stage: {identifier: s2, name: s2, type: Custom, spec: {execution: {steps: [`+strings.Join([]string{
		read("far", value("pipeline.build.v")+" "+value("pipeline.build.none")+"."), read("other", value("stage.build.v")), publish("again", "Pipeline", "9"), read("first", value("pipeline.build.v")),
	}, ",\n")+`]}}}}]}`)
	id := s.Begin(t, "p", nil)
	e, err := s.Until(t.Context(), id, e2e.Ended)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{"inner": "got 3 2 ***", "far": "got 1 null.", "first": "got 1"} {
		n := e.Root.Find(step)
		if got := logOf(t, s, id, n); n.Status != "Success" || !strings.Contains(got, want) {
			t.Errorf("%s is %s: %s, and prints %q; want %q", step, n.Status, n.Message, got, want)
		}
	}
	for step, want := range map[string]string{
		"outside": `no step publishes outputs under the alias "build" in this stepGroup`,
		"other":   `no step publishes outputs under the alias "build" in this stage`,
	} {
		if n := e.Root.Find(step); n.Status != "IgnoreFailed" || !strings.Contains(n.Message, want) {
			t.Errorf("%s is %s: %s; want …%s", step, n.Status, n.Message, want)
		}
	}
}
