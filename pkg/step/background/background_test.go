package background_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/background"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, background.Type())
}
