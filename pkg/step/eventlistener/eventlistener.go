// Package eventlistener is the step type EventListener: it waits until somebody
// sends its webhook an event that meets one of its criteria. It needs no
// delegate.
//
// Outputs: output.outputVariables.<name>, read off the event. Which events
// come to which steps is pkg/engine's and pkg/trigger/firing's.
package eventlistener

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: "EventListener", New: decode, Outside: true, Late: []string{"successCriteria", "failureCriteria", "outputVariables"}, Finish: step.Finisher((*Spec).finish)}
}

// Spec is the step's spec.
type Spec struct {
	Webhook yamldoc.Field[string]
	Success yamldoc.Field[string] // an expression
	Failure yamldoc.Field[string] // likewise; asked if Success doesn't hold
	Outputs []step.Variable       // expressions
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"webhookIdentifier": func(e yamldoc.Value) {
			if s.Webhook = d.String(e); s.Webhook.Value != "" && !nameable(s.Webhook.Value) {
				d.Errorf(e, "WRONG_VALUE", "found %q; want letters, digits, _, - and dots, at most 128", s.Webhook.Value)
			}
		},
		"successCriteria":   d.Condition(&s.Success),
		"failureCriteria":   d.Condition(&s.Failure),
		"outputVariables":   func(e yamldoc.Value) { s.Outputs = step.Variables(d, e, step.TypeString, step.TypeNumber) },
		"inputVariables":    func(e yamldoc.Value) { step.Variables(d, e, step.TypeString, step.TypeNumber) }, // read by expressions, <+spec.inputVariables.x>
		"delegateSelectors": d.Words(nil),                                                                     // no delegate takes part
	})
	d.Missing(v, "webhookIdentifier", "successCriteria")
	return s
}

// name is how a webhook may be called: it is a part of an address.
var name = regexp.MustCompile(`^[a-zA-Z0-9_.-]+$`)

// nameable says whether a webhook may be called so. A regular expression that
// counts takes more of a function's cold start than all others of a package.
func nameable(hook string) bool { return len(hook) <= 128 && name.MatchString(hook) }

// Start listens.
func (s *Spec) Start(step.In) (step.Action, error) {
	hook := step.Text(s.Webhook)
	if !nameable(hook) {
		return step.Action{}, fault.New(fault.Invalid, "webhookIdentifier is %q; want letters, digits, _, - and dots, at most 128", hook)
	}
	if strings.TrimSpace(step.Text(s.Success)) == "" {
		return step.Action{}, fault.New(fault.Invalid, "successCriteria is empty; want an expression such as <+event.payload.action> == \"SUCCESS\"")
	}
	return step.Action{Listen: hook}, nil
}

// finish judges an event: with Again, it is none that the step waits for.
func (s *Spec) finish(in step.In, r task.Result) (plan.Outcome, error) {
	event, err := expr.FromJSON(r.Outputs)
	if err != nil {
		return plan.Outcome{}, fmt.Errorf("read the event: %w", err)
	}
	names := map[string]expr.Value{"event": event}
	o := plan.Outcome{Status: plan.Success}
	failure := strings.TrimSpace(step.Text(s.Failure))
	good, notGood := in.Holds(step.Text(s.Success), names)
	switch {
	case good:
	case failure == "":
		return unmet(notGood), nil
	default:
		// What an event doesn't have makes no failure of it: that it can't be
		// judged is as good as that it isn't meant.
		failed, notBad := in.Holds(failure, names)
		if !failed {
			return unmet(errors.Join(notGood, notBad)), nil
		}
		o = plan.Outcome{Status: plan.Failed, Failures: []fault.FailureType{fault.Unknown}, Message: "an event has met the failureCriteria " + failure}
	}
	o.Outputs, err = s.outputs(in, names)
	return o, err
}

// unmet lets the step wait on after an event.
func unmet(err error) plan.Outcome {
	o := plan.Outcome{Again: time.Second, Message: "the last event has met no criteria"}
	if err != nil {
		o.Message += ": " + err.Error()
	}
	return o
}

// outputs are what the step's output variables read off the event.
func (s *Spec) outputs(in step.In, names map[string]expr.Value) (json.RawMessage, error) {
	out := map[string]expr.Value{}
	for _, x := range s.Outputs {
		v, err := in.Late(step.Text(x.Value), names)
		if err != nil {
			return nil, fmt.Errorf("output variable %q: %w", x.Name.Value, err)
		}
		if v.Secret() {
			return nil, fault.New(fault.Invalid, "output variable %q holds a secret", x.Name.Value)
		}
		if x.Type.Value == step.TypeNumber {
			v = expr.ParseNumber(v.Text())
		}
		out[x.Name.Value] = v
	}
	doc, err := json.Marshal(map[string]any{"output": map[string]any{"outputVariables": out}})
	if err != nil {
		return nil, fmt.Errorf("encode the outputs: %w", err)
	}
	return doc, nil
}
