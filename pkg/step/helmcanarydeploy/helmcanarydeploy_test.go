package helmcanarydeploy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmcanarydeploy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmcanarydeploy.Type())
}
