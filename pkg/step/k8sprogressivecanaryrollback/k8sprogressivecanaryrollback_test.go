package k8sprogressivecanaryrollback_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sprogressivecanaryrollback"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.RunIn[task.KubernetesTarget](t, k8sprogressivecanaryrollback.Type())
}
