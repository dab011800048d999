package awscdk_test

import (
	"flag"
	"testing"

	"github.com/slipway-cd/slipway/delegate/awscdk"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/task"
)

var update = flag.Bool("update", false, "write the table of docs/delegate.md anew")

// What steps ask of AWS beside cdk is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	l := deployed(t)
	bill := l.Bill("../../docs/delegate.md", *update)
	l.run = awscdk.New(awscdk.Config{Sessions: l.Sessions, Accesses: l.Accesses, Pace: bill.Pace})
	l.put(app("Queue", "60"))
	bill.Costs(t, "CDK", func() { l.do(steps.OpDeploy, task.Succeeded) })
	l.Reopen()
	l.put(app("Queue", "30"))
	bill.Costs(t, "CDK, taken back", func() { l.do(steps.OpRollback, task.Succeeded) })
}
