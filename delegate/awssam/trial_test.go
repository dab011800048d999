package awssam_test

import (
	"testing"

	"github.com/slipway-cd/slipway/delegate/workspace/workspacetest"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A deployment by sam, whatever comes between.
func TestWhateverComesBetween(t *testing.T) {
	t.Parallel()
	trial := func(s *stage) workspacetest.Trial {
		return workspacetest.Trial{Machine: s.Machine, Run: s.run(), Deploy: s.step(lane.OpDeploy), Undo: s.step(lane.OpRollback), Stack: "app"}
	}
	t.Run("first", func(t *testing.T) {
		t.Parallel()
		workspacetest.TryFirst(t, func(t *testing.T) workspacetest.Trial {
			t.Helper()
			return trial(begin(t, testaws.NewWorld(t), map[string]string{"template.json": queue("Queue", "30")}))
		})
	})
	t.Run("update", func(t *testing.T) {
		t.Parallel()
		workspacetest.Try(t, func(t *testing.T) workspacetest.Trial {
			t.Helper()
			w := testaws.NewWorld(t)
			begin(t, w, map[string]string{"template.json": queue("Queue", "30")}).sam(lane.OpDeploy, task.Succeeded)
			return trial(begin(t, w, map[string]string{"template.json": queue("Queue", "60")}))
		})
	})
}
