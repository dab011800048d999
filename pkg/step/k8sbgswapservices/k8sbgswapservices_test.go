package k8sbgswapservices_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sbgswapservices"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sbgswapservices.Type())
}
