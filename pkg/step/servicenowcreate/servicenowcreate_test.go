package servicenowcreate_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/servicenowcreate"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, servicenowcreate.Type())
}
