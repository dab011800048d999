package cloudformation_test

import (
	"flag"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/delegate/cloudformation"
	steps "github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
)

var update = flag.Bool("update", false, "write the table of docs/delegate.md anew")

// What steps ask of AWS is as the docs say.
func TestCalls(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bill := s.Bill("../../docs/delegate.md", *update)
	s.do = cloudformation.New(cloudformation.Config{
		Accesses: &aws.Accesses{Options: []func(*config.LoadOptions) error{config.WithBaseEndpoint(s.Endpoint)}}, Pace: bill.Pace,
	})
	bill.Costs(t, "CloudFormation, the first", func() { s.succeeds(t, makes(template("Sales"))) })
	s.next("e2")
	bill.Costs(t, "CloudFormation", func() { s.succeeds(t, makes(template("Sales", "Bills"))) })
	bill.Costs(t, "CloudFormation, taken back", func() { s.succeeds(t, steps.Spec{Op: steps.OpRollback}) })
}
