package helmrollback_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmrollback"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmrollback.Type())
}
