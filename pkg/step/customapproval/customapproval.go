// Package customapproval is the step type CustomApproval: a script looks at
// another system again and again until criteria on its outputs approve or
// reject (semantics/pipeline §7.8).
//
// Outputs: those of the last script, as of a ShellScript step. Between two
// looks nothing runs and no delegate is held; delegate/shell runs the script.
package customapproval

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/criteria"
	"github.com/slipway-cd/slipway/pkg/step/shellscript"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: "CustomApproval", New: decode, Script: true, Finish: step.Finisher((*Spec).finish), Timeout: 24 * time.Hour, Late: criteria.Late(), Looks: true}
}

// Spec is the step's spec.
type Spec struct {
	shellscript.Script
	criteria.Approval
	ScriptTimeout yamldoc.Field[time.Duration] // of one look
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(s.Script.Keys(d), s.Approval.Keys(d), document.Keys{
		"scriptTimeout": d.Time(&s.ScriptTimeout),
		"metadata":      document.Nothing, // of Harness's editor
	}))
	d.Missing(v, "shell", "source", "retryInterval", "scriptTimeout", "approvalCriteria")
	return s
}

// Start gives the script to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	if s.ScriptTimeout.Value <= 0 {
		return step.Action{}, fault.New(fault.Invalid, "scriptTimeout is %s; want a time such as 1m", s.ScriptTimeout.Value)
	}
	p, err := s.Payload(in)
	return step.Action{Task: &step.Task{Kind: task.KindShell, Payload: p, Selectors: in.Selectors, Timeout: s.ScriptTimeout.Value}}, err
}

// finish judges what the script found. A script that fails fails the step
// (semantics/pipeline §7.8).
func (s *Spec) finish(in step.In, r task.Result) (plan.Outcome, error) {
	if r.Status != task.Succeeded {
		return step.Outcome(r), nil
	}
	all, err := expr.FromJSON(r.Outputs)
	if err != nil {
		return plan.Outcome{}, fault.New(fault.Invalid, "the script's outputs: %w", err)
	}
	output, _ := all.Field("output")
	variables, _ := output.Field("outputVariables")
	return s.Judge(in, criteria.Look{
		Subject: "the script's result", Outputs: r.Outputs, Fields: variables,
		Names: map[string]expr.Value{"output": named(variables, output)},
	}), nil
}

// named is what <+output.x> reads: the output variables by their names, and
// the rest as it is below a ShellScript step.
func named(variables, output expr.Value) expr.Value {
	members := map[string]expr.Value{}
	for _, v := range []expr.Value{output, variables} {
		for _, key := range v.Keys() {
			members[key], _ = v.Field(key)
		}
	}
	return expr.Map(members)
}
