package awssam_test

import (
	"flag"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awssam"
	"github.com/slipway-cd/slipway/internal/testaws"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awssam"
	"github.com/slipway-cd/slipway/pkg/task"
)

var update = flag.Bool("update", false, "write the table of docs/delegate.md anew")

// What steps ask of AWS beside sam is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	deployed := func(row, seconds string) func() {
		s := begin(t, w, map[string]string{"template.json": queue("Queue", seconds)})
		s.Execution = "of" + seconds
		bill := s.Bill("../../docs/delegate.md", *update)
		run := awssam.New(awssam.Config{Sessions: s.Sessions, Accesses: s.Accesses, Sandbox: s.sandbox, Pace: bill.Pace})
		bill.Costs(t, row, func() { s.Do(run, s.step(lane.OpDeploy), task.Succeeded) })
		return func() {
			bill.Costs(t, row+", taken back", func() { s.Do(run, s.step(lane.OpRollback), task.Succeeded) })
		}
	}
	deployed("SAM, the first", "30")
	deployed("SAM", "60")()
}
