package k8sscale_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sscale"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sscale.Type())
}
