package k8sdelete_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sdelete"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sdelete.Type())
}
