package step

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Deploy is what a step does that puts something where its stage deploys to: a
// task of a kind, with the spec of that kind's executor (nil: the place says it
// all), and the place in which that kind's watcher finds it again. What is
// deployed where, and by which step, is filled in here, so that no step can
// forget it. A delegate needs the step's selectors, and more: those of the
// connectors that lead there (semantics/entities §9.1).
func Deploy(in In, kind task.Kind, spec, place any, more ...string) (Action, error) {
	if in.Deployment == nil {
		return Action{}, fault.New(fault.Invalid, "the step needs a Deployment stage")
	}
	if place == nil {
		return Action{}, fmt.Errorf("what %s deploys could never be found again: it names no place", in.Node)
	}
	w, err := Work(in, spec)
	if err != nil {
		return Action{}, err
	}
	if w.Place, err = json.Marshal(place); err != nil {
		return Action{}, fmt.Errorf("encode the place of %s: %w", in.Node, err)
	}
	return Action{Task: &Task{Kind: kind, Payload: w, Selectors: slices.Concat(in.Selectors, more)}}, nil
}

// Work is the payload of a step that puts nothing anywhere, of a kind whose
// other tasks do.
func Work(in In, spec any) (task.Work, error) {
	w := task.Work{Target: in.Deployment.target(), Execution: in.Execution, Stage: string(in.StageNode), Step: string(in.Node), Rollback: in.Rollback}
	if spec == nil {
		return w, nil
	}
	var err error
	if w.Spec, err = json.Marshal(spec); err != nil {
		return w, fmt.Errorf("encode the task of %s: %w", in.Node, err)
	}
	return w, nil
}

func (d *Deployment) target() task.Target {
	if d == nil {
		return task.Target{}
	}
	return task.Target{
		Service: d.ServiceID, Environment: d.EnvironmentID, Infrastructure: d.Infrastructure, Release: d.Release, Namespace: d.Namespace, Image: d.Image,
	}
}

// Start asks a spec of the type what its step does. A task of a type that
// Deploys is made by Deploy: of another the instance ledger couldn't know what
// it is about, so there is none.
func (t Type) Start(s Spec, in In) (Action, error) {
	a, err := s.Start(in)
	if err != nil || !t.Deploys || a.Task == nil {
		return a, err
	}
	w, ok := a.Task.Payload.(task.Work)
	if !ok || w.Place == nil || w.Target != in.Deployment.target() {
		return Action{}, fmt.Errorf("the step type %s deploys by a %T that step.Deploy hasn't made", t.Name, a.Task.Payload)
	}
	return a, nil
}
