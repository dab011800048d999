package k8sbluegreenstagescaledown_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaledown"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sbluegreenstagescaledown.Type())
}
