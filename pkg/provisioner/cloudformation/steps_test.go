package cloudformation_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/provisioner/cloudformation"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	steptest.RunProvisioner(t, cloudformation.Kinds(), cloudformation.Steps())
}
