package barrier_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/barrier"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, barrier.Type())
}
