package jiracreate_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/jiracreate"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, jiracreate.Type())
}
