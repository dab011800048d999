package planning_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// of builds the plan of a pipeline with one stage.
func of(t *testing.T, steps string) (*plan.Plan, error) {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte("pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: ["+steps+"]}}}}]}"))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	return planning.Build(planning.Source{Pipeline: pipelineOf(docs[0].Get("pipeline"))})
}

func waits(prefix string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{step: {identifier: %s%d, name: s, type: Wait, spec: {}}}, ", prefix, i)
	}
	return b.String()
}

func TestAPlanHasAsManyNodesAsAnExecution(t *testing.T) {
	t.Parallel()
	group := func(id, strategy, steps string) string {
		return "{stepGroup: {identifier: " + id + ", name: g, strategy: " + strategy + ", steps: [" + steps + "]}}, "
	}
	// 2 nodes for the pipeline and the stage, 1 for the loop, 200 times 99 below it.
	full := group("g", "{parallelism: 200}", waits("s", 98))
	p, err := of(t, full+waits("t", 197))
	if err != nil || p.Nodes() != 20_000 {
		t.Fatalf("%v; want a plan with 20000 nodes", err)
	}
	for name, steps := range map[string]string{
		"one more":  full + waits("t", 198),
		"many more": group("a", "{repeat: {times: 256}}", group("b", "{repeat: {times: 256}}", group("c", "{matrix: {x: [1, 2], y: [3, 4]}}", waits("s", 9)))),
	} {
		if _, err := of(t, steps); !fault.Is(err, fault.TooLarge) || !strings.Contains(err.Error(), "more than 20000 nodes") {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}
}

// A loop that isn't written out counts when it begins, with the loops in it
// that are.
func TestALoopOpensItsNodes(t *testing.T) {
	t.Parallel()
	p, err := of(t, "{stepGroup: {identifier: g, name: g, strategy: {parallelism: <+pipeline.variables.n>}, steps: ["+
		"{step: {identifier: a, name: a, type: Wait, spec: {}, strategy: {repeat: {times: 3}}}}, {step: {identifier: b, name: b, type: Wait, spec: {}, strategy: {repeat: {items: <+x>}}}}]}}")
	if err != nil {
		t.Fatal(err)
	}
	loop := p.Node("pipeline.stages.s.spec.execution.steps.g")
	inner := p.Node("pipeline.stages.s.spec.execution.steps.g_0.steps.a")
	if p.Nodes() != 3 || loop.Opens(5) != 5*(1+1+3+1) || inner.Opens(3) != 0 || loop.Opens(0) != 0 {
		t.Errorf("the plan has %d nodes, the loop opens %d, the one in it %d", p.Nodes(), loop.Opens(5), inner.Opens(3))
	}
}

func TestNamesDownToANodeAreBounded(t *testing.T) {
	t.Parallel()
	nested := func(length int) string {
		steps := waits("s", 1)
		for i := range 5 {
			steps = fmt.Sprintf("{stepGroup: {identifier: %s%d, name: g, steps: [%s]}}, ", strings.Repeat("g", length), i, steps)
		}
		return steps
	}
	// pipeline.stages.s.spec.execution.steps, five times .<name>.steps, and .s0: 800 bytes with names of 144.
	if _, err := of(t, nested(143)); err != nil {
		t.Errorf("names of 144: %v", err)
	}
	if _, err := of(t, nested(145)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("names of 146: %v; want them refused", err)
	}
}
