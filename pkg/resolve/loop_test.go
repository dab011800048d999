package resolve_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

const loopYAML = `
identifier: loops
name: Loops
variables:
  - {name: regions, type: String, value: "eu,us"}
  - {name: json, type: String, value: '["a", {"name": "b", "n": 2}]'}
  - {name: three, type: Number, value: 3}
  - {name: none, type: String, value: ""}
  - {name: token, type: Secret, value: token}
stages:
  - stage:
      identifier: s
      name: S
      type: Custom
      strategy: {matrix: {service: [api, web], region: [eu, us]}}
      spec:
        execution:
          steps:
            - step: {identifier: first, name: First, type: ShellScript, spec: {outputAlias: {key: looped, scope: Pipeline}}}
            - stepGroup:
                identifier: g
                name: G
                strategy: {repeat: {items: [x, y]}}
                steps:
                  - step: {identifier: in, name: In, type: ShellScript, spec: {}}
            - step: {identifier: a, name: A, type: ShellScript, spec: {}, strategy: %s}
`

// loopScope makes the scope of a node of a pipeline whose looped stage and
// group have started; the strategy is that of the step a.
func loopScope(t *testing.T, strategy string, node plan.NodeID) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(t, fmt.Sprintf(loopYAML, strategy))})
	if err != nil {
		t.Fatal(err)
	}
	states := map[plan.NodeID]plan.State{}
	scope := func(n *plan.Node) *resolve.Scope {
		return resolve.New(resolve.Config{
			Types: builtin.Types(), Context: t.Context(), Plan: p, Node: n, Entities: entities{}, Now: time.Unix(1000, 0),
			State:     func(id plan.NodeID) plan.State { return states[id] },
			Execution: store.Execution{ID: "x1", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}},
		})
	}
	const stage = "pipeline.stages.s"
	for _, id := range []plan.NodeID{stage, stage + "_1_0.spec.execution.steps.g"} {
		its, err := scope(p.Node(id)).Iterations()
		if err != nil {
			t.Fatal(err)
		}
		states[id] = plan.State{Status: plan.Running, Iterations: &its}
	}
	states[stage+"_0_1"] = plan.State{Status: plan.Success}
	states[stage+"_0_1.spec.execution.steps.first"] = plan.State{
		Status: plan.Success, Outputs: []byte(`{"output":{"outputVariables":{"x":"out"}}}`),
	}
	n := p.Node(node)
	if n == nil {
		t.Fatalf("the plan has no node %s", node)
	}
	return scope(n)
}

func TestIterationsOfAStrategy(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, strategy, want string }{
		{"pipeline §6 parallelism", `{parallelism: 2}`, `_0 _1`},
		{"pipeline §6 parallelism by an expression", `{parallelism: <+pipeline.variables.three>, maxConcurrency: 2}`, `_0 _1 _2, 2 at a time`},
		{"pipeline §6 times", `{repeat: {times: 2, maxConcurrency: 1}}`, `_0 _1, 1 at a time`},
		{"pipeline §6 times 0 has no iterations", `{repeat: {times: 0}}`, ``},
		{"pipeline §6 items", `{repeat: {items: [a, 1.5, true]}}`, `_0={"repeat":{"item":"a"}} _1={"repeat":{"item":1.5}} _2={"repeat":{"item":true}}`},
		{"pipeline §6 an item is an expression", `{repeat: {items: [<+stage.name>]}}`, `_0={"repeat":{"item":"S"}}`},
		{"pipeline §6 items of a text", `{repeat: {items: "a, b,"}}`, `_0={"repeat":{"item":"a"}} _1={"repeat":{"item":"b"}}`},
		{"pipeline §6 items of a JSON array", `{repeat: {items: <+pipeline.variables.json>}}`, `_0={"repeat":{"item":"a"}} _1={"repeat":{"item":{"name":"b","n":2}}}`},
		{"pipeline §6 items of a method", `{repeat: {items: "<+pipeline.variables.regions>.split(',')"}}`, `_0={"repeat":{"item":"eu"}} _1={"repeat":{"item":"us"}}`},
		{"pipeline §6 an empty list has no iterations", `{repeat: {items: <+pipeline.variables.none>}}`, ``},
		{"pipeline §6 an axis that is empty has no combinations", `{matrix: {service: []}}`, ``},
		{"pipeline §6 partitions by count", `{repeat: {items: [1, 2, 3], partitionSize: 2}}`, `_0={"repeat":{"partition":[1,2]}} _1={"repeat":{"partition":[3]}}`},
		{"pipeline §6 partitions by percentage round up", `{repeat: {items: [1, 2, 3], partitionSize: 50, unit: Percentage}}`, `_0={"repeat":{"partition":[1,2]}} _1={"repeat":{"partition":[3]}}`},
		{"pipeline §6 from start up to end", `{repeat: {items: [a, b, c, d], start: 1, end: 3}}`, `_0={"repeat":{"item":"b"}} _1={"repeat":{"item":"c"}}`},
		{"pipeline §6 end beyond the list", `{repeat: {items: [a, b], start: 1, end: 9}}`, `_0={"repeat":{"item":"b"}}`},
		{
			"pipeline §6 a matrix: the first axis is the slowest", `{matrix: {x: [a, b], y: [1, 2], maxConcurrency: 2}}`,
			`_0_0={"matrix":{"x":"a","y":1}} _0_1={"matrix":{"x":"a","y":2}} _1_0={"matrix":{"x":"b","y":1}} _1_1={"matrix":{"x":"b","y":2}}, 2 at a time`,
		},
		{"pipeline §6 exclude by one axis", `{matrix: {x: [a, b], y: [1, 2], exclude: [{x: a}]}}`, `_1_0={"matrix":{"x":"b","y":1}} _1_1={"matrix":{"x":"b","y":2}}`},
		{"pipeline §6 exclude one combination, compared as text", `{matrix: {x: [a], y: [1, 2], exclude: [{x: a, y: "2"}]}}`, `_0_0={"matrix":{"x":"a","y":1}}`},
		{"pipeline §6 everything excluded", `{matrix: {x: [a], exclude: [{x: a}]}}`, ``},
		{"pipeline §6 an axis of objects", `{matrix: {x: [{n: 1}, {n: <+pipeline.variables.three>}]}}`, `_0={"matrix":{"x":{"n":1}}} _1={"matrix":{"x":{"n":"3"}}}`},
		{"pipeline §6 an axis of an outer loop's value", `{matrix: {x: [<+matrix.service>]}}`, `_0={"matrix":{"x":"web"}}`},
		{"pipeline §6 strategy.when is false", `{when: <+matrix.service> == "api", repeat: {times: 2}}`, ``},
		{"pipeline §6 strategy.when is true", `{when: <+matrix.service> == "web", repeat: {times: 1}}`, `_0`},
		{"pipeline §6 a number that is none", `{repeat: {times: many}}`, `error: repeat.times is "many"; want a whole number from 0 on`},
		{"pipeline §6 too many", `{repeat: {times: 257}}`, `error: there would be 257 iterations; the limit is 256`},
		{"pipeline §6 a secret", `{repeat: {items: [<+pipeline.variables.token>]}}`, `error: a secret can't be looped over; loop over its name`},
		{"pipeline §6 no axes", `{matrix: {nodeName: x}}`, `error: the matrix has no axes`},
		{"pipeline §6 a part of an empty list is none", `{repeat: {items: <+pipeline.variables.none>, partitionSize: 50, unit: Percentage}}`, ``},
		{"pipeline §6 more than all of a list", `{repeat: {items: [1, 2], partitionSize: 300, unit: Percentage}}`, `_0={"repeat":{"partition":[1,2]}}`},
		{"pipeline §6 parts of nothing", `{repeat: {items: [1, 2], partitionSize: 0}}`, `error: repeat.partitionSize is 0; want 1 or more`},
		{"pipeline §6 a start behind the end", `{repeat: {items: [1, 2, 3], start: 2, end: 1}}`, ``},
		{"pipeline §6 a start that is no number", `{repeat: {items: [1], start: <+stage.name>}}`, `error: repeat.start is "S"; want a whole number from 0 on`},
		{"pipeline §6 an expression for all axes that is a text", `{matrix: <+pipeline.variables.regions>}`, `error: matrix is a string; want axes with their values`},
		{"pipeline §6 an exclusion that names no axis", `{matrix: {x: [a], exclude: [a]}}`, `error: matrix.exclude[0] is a string; want axes with a value each`},
		{"pipeline §6 how many at a time, in the kind or beside it", `{repeat: {times: 3, maxConcurrency: 1}, maxConcurrency: 2}`, `_0 _1 _2, 1 at a time`},
		{"pipeline §6 how many at a time, beside it", `{repeat: {times: 3}, maxConcurrency: 2}`, `_0 _1 _2, 2 at a time`},
		{"pipeline §6 how many at a time, by an expression", `{matrix: {x: [a], maxConcurrency: <+pipeline.variables.three>}}`, `_0={"matrix":{"x":"a"}}, 3 at a time`},
		{"pipeline §6 how many at a time, and no number", `{parallelism: 2, maxConcurrency: <+stage.name>}`, `error: maxConcurrency is "S"; want a whole number from 0 on`},
		{"an unknown name", `{repeat: {items: <+pipeline.variables.nope>}}`, `error: repeat.items: `},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := loopScope(t, tt.strategy, "pipeline.stages.s_1_0.spec.execution.steps.a")
			got, err := s.Iterations()
			if err != nil {
				if text := "error: " + err.Error(); tt.want == "" || !strings.HasPrefix(text, tt.want) {
					t.Errorf("%s; want %s", text, tt.want)
				}
				return
			}
			if diff := cmp.Diff(tt.want, inWords(got)); diff != "" {
				t.Errorf("iterations (-want +got):\n%s", diff)
			}
		})
	}
}

func inWords(its plan.Iterations) string {
	var out []string
	for _, it := range its.List {
		text := it.Postfix
		if len(it.Values) > 0 {
			text += "=" + string(it.Values)
		}
		out = append(out, text)
	}
	text := strings.Join(out, " ")
	if its.MaxConcurrency > 0 {
		text += fmt.Sprintf(", %d at a time", its.MaxConcurrency)
	}
	return text
}

func TestIterationsHaveNames(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[string]string{
		`{parallelism: 2}`:                                   "A 0|A 1",
		`{repeat: {items: [x, y]}}`:                          "A x|A y",
		`{matrix: {x: [a, b], y: [1]}}`:                      "A a 1|A b 1",
		`{matrix: {x: [a, b], nodeName: "to <+matrix.x>"}}`:  "to a|to b",
		`{matrix: {x: [a, b], nodeName: same}}`:              "same 0|same 1",
		`{matrix: {x: [a], nodeName: "<+nobody.knows.it>"}}`: "<+nobody.knows.it>",
	} {
		its, err := loopScope(t, strategy, "pipeline.stages.s_1_0.spec.execution.steps.a").Iterations()
		if err != nil {
			t.Errorf("%s: %v", strategy, err)
			continue
		}
		var names []string
		for _, it := range its.List {
			names = append(names, it.Name)
		}
		if diff := cmp.Diff(want, strings.Join(names, "|")); diff != "" {
			t.Errorf("%s: names (-want +got):\n%s", strategy, diff)
		}
	}
}

func TestNamesOfAnIteration(t *testing.T) {
	t.Parallel()
	const (
		stage = "pipeline.stages.s_1_0"
		in    = stage + ".spec.execution.steps.g_1.steps.in"
		first = stage + ".spec.execution.steps.first"
	)
	tests := []struct {
		name string
		at   plan.NodeID
		text string
		want string
	}{
		{"pipeline §6 the matrix of the stage", first, "<+matrix.service>/<+matrix.region>", "web/eu"},
		{"pipeline §6 the nearest loop that has items", in, "<+repeat.item> <+matrix.service>", "y web"},
		{"pipeline §6 the stage's by name", in, "<+stage.matrix.region>", "eu"},
		{"pipeline §6 the group's by name", in, "<+stepGroup.repeat.item>", "y"},
		{"pipeline §6 counting", in, "<+strategy.iteration> of <+strategy.iterations>, <+strategy.totalIterations>", "1 of 2, 2"},
		{"pipeline §6 the stage's number", first, "<+strategy.iteration> of <+strategy.iterations>", "2 of 4"},
		{"pipeline §6 postfixes", in, "<+strategy.identifierPostFix> <+stage.identifierPostFix> <+stepGroup.identifierPostFix> <+step.identifierPostFix>.", "_1 _1_0 _1 ."},
		{"pipeline §6 another iteration by its postfix", first, "<+pipeline.stages.s_0_1.spec.execution.steps.first.output.outputVariables.x>", "out"},
		{"pipeline §6 another iteration by its number", first, "<+pipeline.stages.s_1.spec.execution.steps.first.output.outputVariables.x>", "out"},
		{"pipeline §6 another iteration below the loop", first, "<+pipeline.stages.s.s_0_1.status>", "SUCCEEDED"},
		{"pipeline §6 the postfix in a path", first, "<+pipeline.stages.s<+stage.identifierPostFix>.name>", "S"},
		{"pipeline §6 the loop itself", first, "<+pipeline.stages.s.status> <+strategy.currentStatus>", "RUNNING RUNNING"},
		{"pipeline §6 a loop by its identifier", in, `<+strategy.node.g.currentStatus> <+strategy.node.get("s").currentStatus>`, "RUNNING RUNNING"},
		{"pipeline §6 no such iteration", first, "<+pipeline.stages.s_9_9.name>", "error"},
		{"pipeline §6 no such number", first, "<+pipeline.stages.s_7.name>", "error"},
		{"pipeline §6 a looped stage without an iteration", first, "<+pipeline.stages.s.name>", "error"},
		{"pipeline §6 no such axis", first, "<+matrix.size>", "error"},
		{"pipeline §7.4 outputs that a loop publishes", in, `<+exportedVariables.getValue("pipeline.looped.x")>`, "error"},
		{"pipeline §6 nothing repeats here", first, "<+repeat.item>", "error"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := loopScope(t, `{parallelism: 1}`, tt.at).Text(tt.text)
			if err != nil {
				got = "error"
				t.Log(err)
			}
			if got != tt.want {
				t.Errorf("%s = %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
