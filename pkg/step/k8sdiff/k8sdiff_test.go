package k8sdiff_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sdiff"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/task"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.RunIn[task.KubernetesTarget](t, k8sdiff.Type())
}
