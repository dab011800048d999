package serverless_test

import (
	"flag"
	"testing"

	"github.com/slipway-cd/slipway/delegate/serverless"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/serverless"
	"github.com/slipway-cd/slipway/pkg/task"
)

var update = flag.Bool("update", false, "write the table of docs/delegate.md anew")

// What steps ask of AWS beside serverless is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	on := machine(t)
	deployed := func(row, timestamp string) func() {
		s := on(timestamp)
		bill := s.Bill("../../docs/delegate.md", *update)
		run := serverless.New(serverless.Config{Sessions: s.Sessions, Accesses: s.Accesses, Pace: bill.Pace})
		bill.Costs(t, row, func() { s.Do(run, s.step(lane.OpDeploy), task.Succeeded) })
		return func() {
			bill.Costs(t, row+", taken back", func() { s.Do(run, s.step(lane.OpRollback), task.Succeeded) })
		}
	}
	deployed("Serverless, the first", "1700000000001")
	deployed("Serverless", "1700000000002")()
}
