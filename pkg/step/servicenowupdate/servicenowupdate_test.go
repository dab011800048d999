package servicenowupdate_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/servicenowupdate"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, servicenowupdate.Type())
}
