package ecs

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// start makes the task of a spec: it adds what its stage deploys to.
func start(in step.In, s Spec) (step.Action, error) {
	target, err := step.TargetOf[*Target](in)
	if err != nil {
		return step.Action{}, err
	}
	return startAt(in, *target, s)
}

// startAt makes the task of a spec for a target.
func startAt(in step.In, target Target, s Spec) (step.Action, error) {
	s.Target = target
	s.Target.Selectors = nil
	return step.Deploy(in, Kind, s, Place{AWS: target.AWS, Cluster: target.Cluster}, target.Selectors...)
}

// fieldless is the step type of an operation that has nothing to be told.
func fieldless(op Op) step.Type {
	return step.Type{Name: string(op), Deploys: true}.Fieldless(func(in step.In) (step.Action, error) { return start(in, Spec{Op: op}) })
}

// draining is a step type that waits until tasks behind a load balancer are gone,
// which takes as long as their target group says: 300 seconds, if it says nothing.
func draining(t step.Type) step.Type {
	t.Lasts = &step.Lasting{Time: 6 * time.Minute, Why: "it waits until tasks behind a load balancer are drained, which takes 5m0s unless their target group says otherwise"}
	return t
}

// own is a document that a step has of its own, below one of its keys.
func own(in step.In, key string, from *filesource.Store) (aws.Manifest, error) {
	files, err := in.Store(from)
	if err != nil {
		return aws.Manifest{}, fault.Wrap(err, "%s", key)
	}
	return aws.Manifest{ID: key, Type: key, Store: files}, nil
}
