package fetchinstancescript_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/fetchinstancescript"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, fetchinstancescript.Type())
}
