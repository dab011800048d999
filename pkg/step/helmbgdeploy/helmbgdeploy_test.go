package helmbgdeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmbgdeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmbgdeploy.Type())
}
