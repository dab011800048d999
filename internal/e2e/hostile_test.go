package e2e_test

import (
	"fmt"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// What somebody outside writes never becomes a part of a script that gets its
// values by environment, be it by its expressions or by environmentVariables.
func TestHostileValuesAreNeverRun(t *testing.T) {
	t.Parallel()
	onEveryHost(t, hostileValuesAreNeverRun)
}

func hostileValuesAreNeverRun(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	script := `[ "<+pipeline.variables.title>" = "$T" ] || exit 3
[ <+pipeline.variables.title> = "$T" ] || exit 4
list=<+pipeline.variables.title.split("~")>
[ "${list#[}" != "$list" ] || exit 5
[ ! -e pwned ] || exit 6
SEEN=$T`
	step := fmt.Sprintf("{step: {identifier: set, name: set, type: ShellScript, timeout: 1m, spec: {shell: Bash, expressions: Environment, "+
		"environmentVariables: [{name: T, type: String, value: <+pipeline.variables.title>}], outputVariables: [{name: SEEN, type: String, value: SEEN}], "+
		"source: {type: Inline, spec: {script: %q}}}}}", script)
	s.Apply(t, "pipeline: {identifier: titled, name: titled, variables: [{name: title, type: String, value: <+input>}], "+
		"stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: ["+step+"]}}}}]}")
	for _, title := range []string{`"; touch pwned; #`, "$(touch pwned)", "a'; touch pwned; '"} {
		e := run(t, s, "titled", "Success", map[string]string{"variables.title": title})
		if got := e.Root.Find("set"); got == nil || got.Status != "Success" {
			t.Errorf("%q: the step is %+v", title, got)
		}
	}
}
