package k8srollingrollback_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8srollingrollback"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8srollingrollback.Type())
}
