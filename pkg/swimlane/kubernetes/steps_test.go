package kubernetes_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[kubernetes.Target](t, kubernetes.Lane(), kubernetes.Steps())
}
