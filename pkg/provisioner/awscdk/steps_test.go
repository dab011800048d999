package awscdk_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/provisioner/awscdk"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunProvisioner(t, awscdk.Kinds(), awscdk.Steps())
}
