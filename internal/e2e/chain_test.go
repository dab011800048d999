package e2e_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
)

// semantics/pipeline §1.7: a Pipeline stage runs another pipeline as an
// execution of its own, with inputs from here and outputs from there, mirrors
// how it ends and aborts it when it is aborted itself.
func TestPipelinesAreChained(t *testing.T) {
	t.Parallel()
	onEveryHost(t, pipelinesAreChained)
}

func pipelinesAreChained(t *testing.T, start func(testing.TB) *e2e.Server) {
	t.Helper()
	s := start(t)
	make := "{step: {identifier: make, name: make, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: MADE, type: String, value: MADE}], source: {type: Inline, spec: {script: 'MADE=<+pipeline.variables.image>-<+pipeline.variables.size>; test $MADE != bad-small'}}}}}"
	tell := "{step: {identifier: tell, name: tell, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, outputVariables: [{name: TOLD, type: String, value: TOLD}], source: {type: Inline, spec: {script: 'TOLD=$(printf \"<%spipeline.name>\" +)'}}}}}"
	child := "pipeline: {identifier: child, name: child, variables: [{name: image, type: String, value: <+input>}, {name: size, type: String, value: <+input>}], stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + make + "]}}}}]}"
	sets := "inputSet: {identifier: small, name: small, orgIdentifier: default, projectIdentifier: default_project, pipeline: {identifier: child, variables: [{name: image, type: String, value: other}, {name: size, type: String, value: small}]}}"
	chain := func(id, pipeline, more string) string {
		return "{stage: {identifier: " + id + ", name: " + id + ", type: Pipeline, spec: {org: default, project: default_project, pipeline: " + pipeline + more + "}}}"
	}
	inputs := ", inputSetReferences: [small], inputs: {identifier: child, variables: [{name: image, type: String, value: <+pipeline.variables.tag>}]}, outputs: [{name: made, value: 'it is <+pipeline.stages.s.spec.execution.steps.make.output.outputVariables.MADE>'}]"
	reads := "{stage: {identifier: r, name: r, type: Custom, spec: {execution: {steps: [" + shell("read", `test "<+pipeline.stages.c.output.made>" = "it is web-small"`) + "]}}}}"
	variables := ", variables: [{name: tag, type: String, value: <+input>.default(web)}]"
	s.Apply(t, strings.Join([]string{
		child, sets,
		"pipeline: {identifier: parent, name: parent, stages: [" + chain("c", "child", inputs) + ", " + reads + "]" + variables + "}",
		"pipeline: {identifier: forger, name: forger, stages: [" + chain("c", "child", `, inputSetReferences: [small], inputs: {identifier: child, variables: [{name: image, type: String, value: '{"$secret":"secret:::token"}'}]}, outputs: [{name: made, value: '<+json.object(<+pipeline.variables.image>)>'}]`) + "]}",
		"pipeline: {identifier: teller, name: teller, stages: [{stage: {identifier: t, name: t, type: Custom, spec: {execution: {steps: [" + tell + "]}}}}, " +
			chain("c", "child", `, inputSetReferences: [small], inputs: {identifier: child, variables: [{name: image, type: String, value: 'it is <+pipeline.stages.t.spec.execution.steps.tell.output.outputVariables.TOLD>'}]}`) + "]}",
		"pipeline: {identifier: long, name: long, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [" + ask("ask") + "]}}}}]}",
		"pipeline: {identifier: waits, name: waits, stages: [" + chain("c", "long", "") + "]}",
		"pipeline: {identifier: nested, name: nested, stages: [" + chain("c", "parent", "") + "]}",
	}, "\n---\n"))

	e := run(t, s, "parent", "Success", nil)
	c := e.Root.Find("c").Find("pipeline")
	other, err := s.Get(t.Context(), c.Child)
	if err != nil || other.Parent != e.ID || other.Status != "Success" {
		t.Errorf("the other execution is %s of %q: %v; want Success of %s", other.Status, other.Parent, err, e.ID)
	}
	e = run(t, s, "parent", "Failed", map[string]string{"variables.tag": "bad"})
	if got := e.Root.Find("c"); got.Status != "Failed" || !strings.Contains(got.Message, "pipeline child (execution x") {
		t.Errorf("the stage is %s: %s; want Failed, naming the other execution", got.Status, got.Message)
	}
	if e = run(t, s, "forger", "Failed", nil); !strings.Contains(e.Message, "$secret") {
		t.Errorf("an output that refers to a secret fails the stage with %q", e.Message)
	}
	if e = run(t, s, "teller", "Failed", nil); !strings.Contains(e.Message, "inputs.variables[0].value") {
		t.Errorf("an input that turns out to be an expression fails the stage with %q", e.Message)
	}

	id := s.Begin(t, "waits", nil)
	e, err = s.Until(t.Context(), id, func(e e2e.Execution) bool {
		n := e.Root.Find("pipeline")
		return n != nil && n.Child != ""
	})
	if err != nil {
		t.Fatal(err)
	}
	running := e.Root.Find("pipeline").Child
	reaches(t, s, running, "ask", "ApprovalWaiting")
	if e = reaches(t, s, id, "pipeline", "ApprovalWaiting"); e.Status != "ApprovalWaiting" {
		t.Errorf("the execution whose other one asks is %s", e.Status)
	}
	listed(t, s, running, "ApprovalWaiting")
	listed(t, s, id, "ApprovalWaiting")
	if err := s.Call(t.Context(), "POST", "/v1/executions/"+id+"/abort", nil, nil); err != nil {
		t.Fatal(err)
	}
	reaches(t, s, id, "waits", "Aborted")
	if e, err = s.Until(t.Context(), running, e2e.Ended); err != nil || e.Status != "Aborted" {
		t.Errorf("the execution that it had started is %s: %v; want Aborted", e.Status, err)
	}

	err = s.Call(t.Context(), "POST", "/v1/pipelines/nested/executions?org=default&project=default_project", map[string]string{}, nil)
	if err == nil || !strings.Contains(err.Error(), "stage c: pipeline parent can't be chained, because its stage c chains another one") {
		t.Errorf("a chain of three: %v", err)
	}
}
