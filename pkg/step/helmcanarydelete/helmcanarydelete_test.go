package helmcanarydelete_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmcanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmcanarydelete.Type())
}
