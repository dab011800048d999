package k8srollout_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8srollout"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8srollout.Type())
}
