package nativehelm

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/swimlane"
)

// fetched is what a delegate brings for a task: the chart and its values, of
// what deploys it. They are no templates of Slipway's where it is only read.
func (h *Spec) fetched() swimlane.Fetched {
	if !slices.Contains([]Op{OpDeploy, OpCanary, OpBlueGreen}, h.Op) {
		return swimlane.Fetched{}
	}
	return h.Target.Fetched()
}
