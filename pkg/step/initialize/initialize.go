// Package initialize is the step that a group, or a stage, begins with some of
// whose steps run programs: it opens the session in which they do.
//
// Nobody writes it down: pkg/planning puts it there. Sessions are opened by
// delegate/session.
package initialize

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: plan.TypeSession, New: decode, Session: true}
}

// Spec is the step's spec, which is empty.
type Spec struct{}

func decode(*document.Decoder, yamldoc.Value) step.Spec { return &Spec{} }

// Start has a delegate open the session on its machine, which must have the tools
// of all steps that run in it.
func (*Spec) Start(in step.In) (step.Action, error) {
	if in.Session == nil {
		return step.Action{}, fault.New(fault.Internal, "%s opens no session", in.Node)
	}
	open := task.Session{ID: in.Session.ID, Execution: in.Session.Execution, Node: string(in.Session.Node)}
	return step.Action{Task: &step.Task{Kind: task.KindSession, Payload: open, Selectors: in.Selectors, Tools: in.Session.Tools}}, nil
}
