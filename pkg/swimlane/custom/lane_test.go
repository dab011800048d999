package custom_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/custom"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
)

func TestLane(t *testing.T) {
	t.Parallel()
	swimlanetest.Run(t, custom.Lane(), custom.Steps(), swimlanetest.Config{
		Service:         "{customDeploymentRef: {templateRef: fleet}}",
		Infrastructures: map[string]string{custom.Type: "{customDeploymentRef: {templateRef: fleet}}"},
		Template: `{infrastructure: {fetchInstancesScript: {store: {type: Inline, spec: {content: list}}}, instancesListPath: a,
  instanceAttributes: [{name: instancename, jsonPath: b}]}, execution: {}}`,
		Undo:   map[string]string{"FetchInstanceScript": ""}, // it looks
		Others: swimlane.Lanes{kubernetes.Lane()},
	})
}
