package k8scanarydelete_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8scanarydelete"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8scanarydelete.Type())
}
