package bamboobuild_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/bamboobuild"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, bamboobuild.Type())
}
