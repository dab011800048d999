// Package probe is the step that tests a connector: a delegate tries whether
// what it stands for can be reached and lets the connector in (semantics/entities §9).
//
// Nobody writes it down: pkg/execution makes a plan of it alone. Outputs:
// output.test, a probe.Result. What is tried is pkg/resolve's to say, and
// delegate/probe's to do.
package probe

import (
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A test has ended after Timeout, whatever happens; its delegate has ended
// before, and says what took so long.
const (
	Timeout     = 55 * time.Second
	taskTimeout = 45 * time.Second
)

// Type describes the step type. An unsaved connector's expressions are resolved
// with it, not before.
func Type() step.Type {
	return step.Type{Name: plan.TypeProbe, New: decode, Finish: step.Finisher((*Spec).finish), Timeout: Timeout, Late: []string{"connector", "document"}}
}

// Spec is the step's spec: one of both is set.
type Spec struct {
	Connector string // a reference
	Document  string // of a connector that isn't saved, as YAML
}

func decode(_ *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	for key, to := range map[string]*string{"connector": &s.Connector, "document": &s.Document} {
		if n := v.Node.Get(key); n != nil {
			*to = n.Value // pkg/execution wrote it
		}
	}
	return s
}

// Start has a delegate test the connector.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p, err := in.Probe(s.Connector, s.Document)
	if err != nil {
		return step.Action{}, err
	}
	return step.Action{Task: &step.Task{
		Kind: task.KindProbe, Payload: p.Task, Selectors: append(in.Selectors[:len(in.Selectors):len(in.Selectors)], p.Selectors...),
		Timeout: taskTimeout, Prompt: true,
	}}, nil
}

// finish fails the step if the test failed, with what is wrong as its message.
func (*Spec) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	found, err := probe.Read(r.Outputs)
	if err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the test: %w", err)
	}
	if found == nil {
		return o, nil
	}
	if bad, ok := found.Failed(); ok {
		o.Message = string(bad.Name) + ": " + bad.Message
	}
	if found.Status == probe.Failure {
		o.Status, o.Failures = plan.Failed, []fault.FailureType{fault.Verification}
	}
	return o, nil
}
