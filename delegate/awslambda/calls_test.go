package awslambda_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/awslambda"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
)

// What deployments ask of AWS is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	bill := a.Bill("../../docs/delegate.md", *update)
	a.kind = awslambda.Kind(awslambda.Config{Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(a.Endpoint)}}, Pace: bill.Pace})
	bill.Costs(t, "Lambda, the first", func() { a.stage("e1", "one").good(lane.OpDeploy, 0) })
	s := a.stage("e2", "two")
	bill.Costs(t, "Lambda", func() { s.good(lane.OpDeploy, 0) })
	bill.Costs(t, "Lambda, taken back", func() { s.good(lane.OpRollback, 0) })
}
