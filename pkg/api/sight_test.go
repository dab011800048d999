package api

import (
	"fmt"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// What a look at the nodes that are shown of a large execution takes, besides reading
// them: of most of them nothing has changed.
func BenchmarkSightings(b *testing.B) {
	root := &execution.TreeNode{ID: "pipeline", Kind: plan.KindPipeline, Status: plan.Running}
	for i := range execution.MaxShown - 1 {
		root.Children = append(root.Children, &execution.TreeNode{
			ID: plan.NodeID(fmt.Sprintf("pipeline.stages.s%d.spec.execution.steps.a", i)), Kind: plan.KindStep, Identifier: "a", Name: "A step", Type: "ShellScript", Status: plan.Success,
			StartedAt: time.Unix(1, 0), EndedAt: time.Unix(2, 0), Attempt: 1, LogStream: fmt.Sprintf("x1/%d", i),
		})
	}
	seen, _ := sightings{}.look(root)
	for b.Loop() {
		now, changed := seen.look(root)
		if len(changed) != 0 {
			b.Fatalf("%d have changed", len(changed))
		}
		seen = now
	}
}
