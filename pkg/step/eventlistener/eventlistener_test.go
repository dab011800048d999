package eventlistener_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/eventlistener"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, eventlistener.Type())
}
