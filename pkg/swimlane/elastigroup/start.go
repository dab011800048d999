package elastigroup

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/step"
)

// start makes the task of a spec: it adds what its stage deploys, and where. A
// delegate needs more selectors.
func start(in step.In, s Spec, more ...string) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	s.Target = target.needed(s.Op)
	return step.Deploy(in, Kind, s, Place{Spot: s.Target.Spot}, slices.Concat(target.Selectors, more)...)
}
