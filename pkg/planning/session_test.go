package planning_test

import (
	"os"
	"slices"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A step runs in the session of what it is in: a rollback of a stage has nothing
// of what came before, that of a group has.
func TestSessionsOfSteps(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/sessions.txtar")
	if err != nil {
		t.Fatal(err)
	}
	docs, report := yamldoc.Parse("", txtar.Parse(data).Files[0].Data)
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := planning.Build(planning.Source{
		Pipeline: pipelineOf(docs[0].Get("pipeline")), Steps: step.Types{{Name: "GitClone", Session: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const own, contained = "pipeline.stages.own.spec.execution.", "pipeline.stages.contained.spec.execution.steps."
	for node, want := range map[plan.NodeID]plan.NodeID{
		"pipeline.stages.plain.spec.execution.steps.wait": "",
		own + "steps.wait":                 own + "steps.-initialize",
		own + "steps.ask":                  own + "steps.-initialize",
		own + "steps.g.steps.clone":        own + "steps.-initialize",
		own + "steps.g.rollbackSteps.back": own + "steps.-initialize",
		own + "rollbackSteps.undo":         own + "rollbackSteps.-initialize",
		contained + "c.steps.clone":        contained + "c.steps.-initialize",
	} {
		var got plan.NodeID
		if s := p.Node(node).Session(); s != nil {
			got = s.ID
		}
		if got != want {
			t.Errorf("%s runs in the session of %q; want %q", node, got, want)
		}
	}
	if got := p.Node(contained + "c.steps.-initialize").Needs; !slices.Equal(got, []string{"os=darwin", "arch=arm64"}) {
		t.Errorf("the group's machine must be %v", got)
	}
}
