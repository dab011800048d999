package planning_test

import (
	"os"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TestIterationsAreMade names nodes of iterations and looks at their way up.
func TestIterationsAreMade(t *testing.T) {
	t.Parallel()
	p := build(t, "testdata/loops.txtar")
	const stage = "pipeline.stages.a_1_0"
	for id, want := range map[plan.NodeID]struct {
		parent  plan.NodeID
		postfix string
		kind    plan.Kind
	}{
		"pipeline.stages.a":                                      {"pipeline", "", plan.KindLoop},
		stage:                                                    {"pipeline.stages.a", "_1_0", plan.KindStage},
		stage + ".spec.execution.steps.s":                        {stage, "", plan.KindLoop},
		stage + ".spec.execution.steps.s_1":                      {stage + ".spec.execution.steps.s", "_1", plan.KindStep},
		stage + ".spec.execution.steps#1":                        {stage, "", plan.KindParallel},
		stage + ".spec.execution.steps.g_0.steps.t":              {stage + ".spec.execution.steps.g_0", "", plan.KindStep},
		stage + ".spec.execution.rollbackSteps.r":                {stage, "", plan.KindStep},
		"pipeline.stages.a_0_0.spec.execution.steps.g_7.steps.t": {"pipeline.stages.a_0_0.spec.execution.steps.g_7", "", plan.KindStep},
	} {
		n := p.Node(id)
		if n == nil {
			t.Errorf("%s isn't found", id)
			continue
		}
		if n.ID != id || n.Kind != want.kind || n.Parent().ID != want.parent || n.Postfix() != want.postfix {
			t.Errorf("%s: found a %s %s below %s with the postfix %q; want %+v", id, n.Kind, n.ID, n.Parent().ID, n.Postfix(), want)
		}
		if inRollback := n.Identifier == "r"; n.InRollback() != inRollback {
			t.Errorf("%s: in rollback is %v", id, n.InRollback())
		}
	}
	for _, id := range []plan.NodeID{
		"pipeline.stages.a_x", "pipeline.stages.a_", "pipeline.stages.b_0", "pipeline.stages.a_1__0",
		"pipeline.stages.a.spec.execution.steps.s", stage + ".spec.execution.steps.r_0", stage + ".spec.execution.steps.s_1.x",
	} {
		if n := p.Node(id); n != nil {
			t.Errorf("%s: found %s %s; want nothing", id, n.Kind, n.ID)
		}
	}
}

func build(t *testing.T, file string) *plan.Plan {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	docs, report := yamldoc.Parse(file, txtar.Parse(data).Files[0].Data)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := planning.Build(planning.Source{Pipeline: pipelineOf(docs[0].Get("pipeline"))})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
