package k8sprogressivecanaryrollback_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sprogressivecanaryrollback"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sprogressivecanaryrollback.Type())
}
