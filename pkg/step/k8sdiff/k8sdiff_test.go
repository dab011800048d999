package k8sdiff_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sdiff"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sdiff.Type())
}
