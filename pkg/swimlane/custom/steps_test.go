package custom_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[custom.Instances](t, custom.Lane(), custom.Steps())
}
