package helmdelete_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/helmdelete"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, helmdelete.Type())
}
