package wait_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/step/wait"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, wait.Type())
}
