package helmdeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmdeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmdeploy.Type())
}
