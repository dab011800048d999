package asg_test

import (
	"flag"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/asg"
	"github.com/slipway-cd/slipway/delegate/aws"
	asglane "github.com/slipway-cd/slipway/pkg/swimlane/asg"
)

var update = flag.Bool("update", false, "write the table of docs/delegate.md anew")

// What deployments ask of AWS is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bill := s.Bill("../../docs/delegate.md", *update)
	s.kind = asg.Kind(asg.Config{Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}, Pace: bill.Pace})
	bill.Costs(t, "Auto Scaling group, rolling, the first", func() { s.succeeds(t, asglane.OpRolling) })
	s = s.next(t, "web-2")
	bill.Costs(t, "Auto Scaling group, rolling", func() { s.succeeds(t, asglane.OpRolling) })
	bill.Costs(t, "Auto Scaling group, rolling, taken back", func() { s.succeeds(t, asglane.OpRollingRollback) })
}
