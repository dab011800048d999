package k8srollingdeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8srollingdeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8srollingdeploy.Type())
}
