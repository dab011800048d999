package customapproval_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/customapproval"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, customapproval.Type())
}
