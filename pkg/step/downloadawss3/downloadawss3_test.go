package downloadawss3_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/downloadawss3"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, downloadawss3.Type())
}
