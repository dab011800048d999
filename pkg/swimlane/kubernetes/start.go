package kubernetes

import (
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/step"
)

// lastWords is kept of a step's time, at most a tenth of it, so that a delegate
// whose time is up can still say what was missing and mark its release.
const lastWords = 15 * time.Second

// start makes the task of a spec: it adds what its stage deploys to, and where
// the release's pods are then: those that are marked with it. A delegate needs
// what p.Target.Selectors asks for besides.
func start(in step.In, p Spec) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	own := p.Target.Selectors
	p.Target = *target
	p.CanaryInStage = slices.Contains(in.Siblings, string(OpCanary))
	p.BlueGreenInStage = p.Op == OpDiff && slices.Contains(in.Siblings, string(OpBlueGreen))
	p.Target.Selectors = nil
	a, err := step.Deploy(in, Kind, p, Place{
		Cluster: p.Target.Cluster, Pods: []Pods{{Namespace: p.Target.Namespace, Selector: ReleaseLabel + "=" + p.Target.ReleaseName}},
	}, slices.Concat(own, target.Selectors)...)
	if err != nil {
		return a, err
	}
	a.Task.Timeout = in.Timeout - min(in.Timeout/10, lastWords)
	return a, nil
}

// fieldless is the step type of an operation that has nothing to be told.
func fieldless(op Op) step.Type {
	return step.Type{Name: string(op), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) { return start(in, Spec{Op: op}) })
}
