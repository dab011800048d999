package jenkinsbuild_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/jenkinsbuild"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, jenkinsbuild.Type())
}
