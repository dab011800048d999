package shellscript_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/shellscript"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, shellscript.Type())
}
