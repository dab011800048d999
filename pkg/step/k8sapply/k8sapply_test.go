package k8sapply_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sapply"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sapply.Type())
}
