package k8sbluegreendeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreendeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sbluegreendeploy.Type())
}
