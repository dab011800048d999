package kubernetes_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunLane[task.KubernetesTarget](t, kubernetes.Steps())
}
