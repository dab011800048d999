package helmbluegreenswapstep_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmbluegreenswapstep"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmbluegreenswapstep.Type())
}
