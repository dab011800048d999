package k8sbluegreenstagescaleup_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sbluegreenstagescaleup"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sbluegreenstagescaleup.Type())
}
