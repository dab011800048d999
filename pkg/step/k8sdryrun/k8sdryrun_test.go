package k8sdryrun_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/k8sdryrun"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, k8sdryrun.Type())
}
