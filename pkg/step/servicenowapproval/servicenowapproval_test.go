package servicenowapproval_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/servicenowapproval"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, servicenowapproval.Type())
}
