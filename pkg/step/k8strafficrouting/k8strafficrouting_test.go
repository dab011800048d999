package k8strafficrouting_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8strafficrouting"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8strafficrouting.Type())
}
