package ecs_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[ecs.Target](t, ecs.Lane(), ecs.Steps())
}
