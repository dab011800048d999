package servicenowimportset_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/servicenowimportset"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, servicenowimportset.Type())
}
