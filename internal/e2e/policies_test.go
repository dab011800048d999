package e2e_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
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
