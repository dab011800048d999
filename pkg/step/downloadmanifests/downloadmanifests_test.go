package downloadmanifests_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/downloadmanifests"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, downloadmanifests.Type())
}
