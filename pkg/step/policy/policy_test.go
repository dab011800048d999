package policy_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/step/policy"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, policy.Type())
}
