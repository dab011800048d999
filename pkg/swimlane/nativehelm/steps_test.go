package nativehelm_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[kubernetes.Target](t, nativehelm.Lane(), nativehelm.Steps())
}
