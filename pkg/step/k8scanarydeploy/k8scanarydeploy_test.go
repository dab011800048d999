package k8scanarydeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8scanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8scanarydeploy.Type())
}
