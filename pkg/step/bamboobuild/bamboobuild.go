// Package bamboobuild is the step type BambooBuild: it runs a plan of Bamboo
// and waits for its build (semantics/pipeline §7.12).
//
// Outputs: build.{executionStatus, buildNumber, buildResultKey, buildUrl}. The
// build is followed by delegate/bamboo.
package bamboobuild

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/ticket"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "BambooBuild", New: decode} }

// Spec is the step's spec.
type Spec struct {
	ticket.Base
	Plan       yamldoc.Field[string] // its key
	Parameters []ticket.Parameter
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Keys(d), document.Keys{
		"planName":      d.Text(&s.Plan),
		"planParameter": func(e yamldoc.Value) { s.Parameters = ticket.Parameters(e, d) },
	}))
	d.Missing(v, "connectorRef", "planName")
	return s
}

// every is the time between two looks at a build.
const every = 5 * time.Second

// Start gives the plan to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	server, selectors, err := s.Server(in, "Bamboo")
	if err != nil {
		return step.Action{}, err
	}
	p := task.Bamboo{Server: server, Plan: step.Text(s.Plan), Every: every}
	if p.Parameters, err = ticket.Given(s.Parameters); err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{Kind: task.KindBamboo, Selectors: selectors, Payload: p}}, nil
}
