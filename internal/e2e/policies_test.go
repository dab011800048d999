package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/policy"
)

// governed has a policy asked before each run, which has nothing against one that
// isn't called forbidden.
const governed = `policy: {identifier: names, name: names, rego: 'package p

  deny[msg] { input.pipeline.name == "forbidden"; msg := "it is called forbidden" }'}
---
policySet: {identifier: runs, name: runs, type: pipeline, action: onrun, enabled: true, policies: [{identifier: names, severity: error}]}`

// Policies decide on what is saved, on what runs and, by a step, on what a pipeline
// shows them; those of a run also where another pipeline starts it.
func TestPoliciesDecide(t *testing.T) {
	t.Parallel()
	onEveryHost(t, policiesDecide)
}

func policiesDecide(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	check := "{step: {identifier: check, name: check, type: Policy, timeout: 1m, spec: {policySets: [risks], type: Custom, policySpec: {payload: '{\"risk\": <+pipeline.variables.risk>}'}}}}"
	s.Apply(t, strings.Join([]string{
		governed,
		"policy: {identifier: saves, name: saves, rego: 'package p\n\n  deny[\"no stage may be called prod\"] { input.pipeline.stages[_].stage.name == \"prod\" }\n\n  warn[\"it has no tags\"] { not input.pipeline.tags }'}",
		"policySet: {identifier: saves, name: saves, type: pipeline, action: onsave, enabled: true, policies: [{identifier: saves, severity: error}]}",
		"policy: {identifier: risk, name: risk, rego: 'package p\n\n  deny[msg] { input.risk > 5; msg := sprintf(\"the risk is %d\", [input.risk]) }'}",
		"policySet: {identifier: risks, name: risks, type: custom, action: onstep, enabled: true, policies: [{identifier: risk, severity: error}]}",
	}, "\n---\n"))
	s.Apply(t, "pipeline: {identifier: fine, name: fine, variables: [{name: risk, type: String, value: <+input>}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: ["+check+"]}}}}]}")
	s.Apply(t, one("forbidden", shell("say", "echo hello"), ""))
	s.Apply(t, "pipeline: {identifier: parent, name: parent, stages: [{stage: {identifier: c, name: c, type: Pipeline, spec: {org: default, project: default_project, pipeline: forbidden}}}]}")

	refused := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v; want %s", err, want)
		}
	}
	save := func(document string) error {
		return s.Call(t.Context(), http.MethodPut, "/v1/entities", document, nil)
	}
	refused("no stage may be called prod",
		save("pipeline: {identifier: bad, name: bad, stages: [{stage: {identifier: p, name: prod, type: Custom, spec: {execution: {steps: ["+shell("say", "echo hello")+"]}}}}]}"))
	refused("unexpected eof token", save("policy: {identifier: odd, name: odd, rego: 'package p\n\n  deny[msg] {'}"))
	_, err := s.TryBegin(t.Context(), "forbidden", nil)
	refused("it is called forbidden", err)

	run(t, s, "fine", "Success", map[string]string{"variables.risk": "3"})
	if e := run(t, s, "fine", "Failed", map[string]string{"variables.risk": "7"}); !strings.Contains(e.Message, "the risk is 7") {
		t.Errorf("the step says %q", e.Message)
	}
	if e := run(t, s, "parent", "Failed", nil); !strings.Contains(e.Message, "it is called forbidden") {
		t.Errorf("the stage that starts another pipeline says %q", e.Message)
	}
}

// A policy that takes all memory takes the function that evaluates it, and nothing
// else: it has failed, and the API goes on. While the function can't be asked at all,
// nothing is refused for good.
func TestAPolicyThatBreaksItsFunction(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	a.Apply(t, governed)
	a.Apply(t, one("fine", shell("say", "echo hello"), ""))
	a.Host.AddFunc("policy", func(context.Context, []byte) ([]byte, error) {
		return nil, &testaws.Failure{Type: "Runtime.OutOfMemory", Message: "signal: killed"}
	})
	if _, err := a.TryBegin(t.Context(), "fine", nil); err == nil || !strings.Contains(err.Error(), "POLICY_DENIED") || !strings.Contains(err.Error(), "more memory or time than there is") {
		t.Errorf("the start: %v", err)
	}
	a.Host.Fail("policy", testaws.Faults{Before: 1})
	if _, err := a.TryBegin(t.Context(), "fine", nil); err == nil || !strings.Contains(err.Error(), "UNAVAILABLE") {
		t.Errorf("the start while nobody can be asked: %v", err)
	}
}

// Policies decide on each step before it starts and, where a step enforces some, on
// how it has ended; what they warn of stands in the step's log.
func TestPoliciesDecideOnSteps(t *testing.T) {
	t.Parallel()
	onEveryHost(t, policiesDecideOnSteps)
}

func policiesDecideOnSteps(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	s.Apply(t, strings.Join([]string{
		"secret: {identifier: token, name: token, type: SecretText, spec: {secretManagerIdentifier: harnessSecretManager, valueType: Inline, value: canary-of-a-policy}}",
		"policy: {identifier: results, name: results, rego: 'package p\n\n  deny[msg] { input[0].outcome.outputVariables.risk == \"high\"; msg := \"the risk is high\" }\n\n  warn[msg] { input[i].name == \"step\"; msg := sprintf(\"%s of %s\", [input[i].outcome.status, input[i].outcome.identifier]) }'}",
		"policySet: {identifier: results, name: results, type: custom, action: onstep, enabled: true, policies: [{identifier: results, severity: error}]}",
	}, "\n---\n"))
	risky := func(more string) string {
		return "{step: {identifier: risky, name: risky, type: ShellScript, timeout: 1m, spec: {shell: Bash, source: {type: Inline, spec: {script: 'echo before; export risk=<+pipeline.variables.risk>'}}, outputVariables: [{name: risk, type: String, value: risk}]}, enforce: {policySets: [results]}" + more + "}}"
	}
	pipeline := func(id, steps string) string {
		return "pipeline: {identifier: " + id + ", name: " + id + ", variables: [{name: risk, type: String, value: <+input>}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + steps + "]}}}}]}"
	}
	s.Apply(t, pipeline("enforced", risky("")))
	s.Apply(t, pipeline("ignored", risky(", failureStrategies: [{onFailure: {errors: [PolicyEvaluationFailure], action: {type: Ignore}}}]")))
	s.Apply(t, pipeline("again", risky(", failureStrategies: [{onFailure: {errors: [PolicyEvaluationFailure], action: {type: Retry, spec: {retryCount: 1, retryIntervals: [1s], onRetryFailure: {action: {type: MarkAsFailure}}}}}}]")))
	s.Apply(t, pipeline("matrix", risky(", strategy: {matrix: {of: [a, b]}}")))

	e := run(t, s, "enforced", "Success", map[string]string{"variables.risk": "low"})
	if log := logOf(t, s, e.ID, e.Root.Find("risky")); !strings.Contains(log, "before") || !strings.Contains(log, "SUCCEEDED of risky (policy results of set results)") {
		t.Errorf("the log of the step: %s", log)
	}
	e = run(t, s, "enforced", "Failed", map[string]string{"variables.risk": "high"})
	if !strings.Contains(e.Message, "the risk is high (policy results of set results)") {
		t.Errorf("the step says %q", e.Message)
	}
	run(t, s, "ignored", "IgnoreFailed", map[string]string{"variables.risk": "high"})
	run(t, s, "again", "Failed", map[string]string{"variables.risk": "high"})
	run(t, s, "matrix", "Failed", map[string]string{"variables.risk": "high"})
	run(t, s, "matrix", "Success", map[string]string{"variables.risk": "low"})

	s.Apply(t, strings.Join([]string{
		"policy: {identifier: starts, name: starts, rego: 'package p\n\n  deny[msg] { contains(input.spec.source.spec.script, \"forbidden\"); msg := sprintf(\"%s runs %s\", [input.identifier, input.spec.source.spec.script]) }\n\n  warn[msg] { input.type == \"ShellScript\"; msg := sprintf(\"started in %s with %s\", [input.timeout, input.spec.source.spec.script]) }'}",
		"policySet: {identifier: starts, name: starts, type: pipeline, action: onstepstart, enabled: true, policies: [{identifier: starts, severity: error}]}",
	}, "\n---\n"))
	s.Apply(t, pipeline("starts", "{step: {identifier: says, name: says, type: ShellScript, timeout: 1m, spec: {shell: Bash, source: {type: Inline, spec: {script: 'echo <+pipeline.variables.risk> <+secrets.getValue(\"token\")> | wc -c'}}}}}"))
	e = run(t, s, "starts", "Success", map[string]string{"variables.risk": "fine"})
	if log := logOf(t, s, e.ID, e.Root.Find("says")); !strings.Contains(log, `started in 1m with echo fine <+secrets.getValue("token")> | wc -c`) || !strings.Contains(log, "\n24") || strings.Contains(log, "canary") {
		t.Errorf("the log of the step: %s", log)
	}
	e = run(t, s, "starts", "Failed", map[string]string{"variables.risk": "forbidden"})
	if !strings.Contains(e.Message, `says runs echo forbidden <+secrets.getValue("token")> | wc -c (policy starts of set starts)`) {
		t.Errorf("the step says %q", e.Message)
	}

	// What they came to is kept, with what they were asked about.
	var list policy.EvaluationList
	if err := s.Call(t.Context(), http.MethodGet, "/v1/evaluations?execution="+e.ID, nil, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Evaluations) != 1 || list.Evaluations[0].Status != policy.Refused || !strings.Contains(e.Message, list.Evaluations[0].ID) {
		t.Fatalf("the execution has the evaluations %+v and says %q", list.Evaluations, e.Message)
	}
	var one policy.WithInput
	if err := s.Call(t.Context(), http.MethodGet, "/v1/evaluations/"+list.Evaluations[0].ID, nil, &one); err != nil {
		t.Fatal(err)
	}
	if text := string(one.Input); one.Node != "pipeline.stages.s.spec.execution.steps.says" || !strings.Contains(text, "echo forbidden") || strings.Contains(text, "canary") {
		t.Errorf("the evaluation is %+v of %s", one.Evaluation, text)
	}
	account := e2e.Server{URL: s.URL, Token: s.Token}
	if err := account.Call(t.Context(), http.MethodGet, "/v1/evaluations/"+list.Evaluations[0].ID, nil, nil); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
		t.Errorf("the evaluation is there in the account, too: %v", err)
	}
}
