package gitops_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/gitops"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, gitops.Lane(), gitops.Steps(), swimlanetest.Config{})
}

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[gitops.Target](t, gitops.Lane(), gitops.Steps())
}
