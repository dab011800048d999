package k8spatch_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8spatch"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8spatch.Type())
}
