package gitclone_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/gitclone"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, gitclone.Type())
}
