package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §2.1 and §14.37: a value that is an expression is checked
// when it is resolved; one that gives nothing stays so.
func TestValidatorsOfExpressions(t *testing.T) {
	t.Parallel()
	onEveryHost(t, validatorsOfExpressions)
}

func validatorsOfExpressions(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, `pipeline: {identifier: p, name: p, variables: [
  {name: other, type: String, value: <+input>}, {name: known, type: String, value: prod},
  {name: env, type: String, value: '<+input>.allowedValues(dev,<+pipeline.variables.known>)'}, {name: tag, type: Number, value: '<+input>.regex(\d\d)'}],
  stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [`+shell("use", "echo <+pipeline.variables.env> <+pipeline.variables.tag>")+`,
  {step: {identifier: spec, name: spec, type: Http, spec: {method: '<+input>.selectOneFrom(GET,HEAD)', url: '`+s.URL+`/healthz'}}}]}}}}]}`)
	for _, tt := range []struct{ env, tag, method, other, status, says string }{
		{"<+pipeline.variables.other>", "<+pipeline.variables.other.length() + 10>", "GET", "prod", "Success", ""},
		{"dev,<+pipeline.variables.other>", "12", "GET", "prod", "Success", ""},
		{"<+pipeline.variables.other>", "12", "GET", "test", "Failed", `"test" isn't one of dev, prod`},
		{"prod", "12", "GET", "x", "Success", ""},
		{"test", "12", "GET", "x", "Failed", `"test" isn't one of dev, prod`},
		{"dev", "<+pipeline.variables.other>", "GET", "1", "Failed", `"1" doesn't match the regular expression`},
		{"dev", "12", "<+pipeline.variables.other>", "PUT", "Failed", `"PUT" isn't one of GET, HEAD`},
		{"<+trigger.branch>", "12", "HEAD", "x", "Success", ""},
	} {
		e := run(t, s, "p", tt.status, map[string]string{
			"variables.env": tt.env, "variables.tag": tt.tag, "variables.other": tt.other, "stages.s.spec.execution.steps.spec.spec.method": tt.method,
		})
		if !strings.Contains(e.Message, tt.says) {
			t.Errorf("%+v: %q", tt, e.Message)
		}
	}
}
