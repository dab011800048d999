// Package shellscript is the step type ShellScript: a Bash or PowerShell
// script on a delegate (pipeline spec §7.4).
//
// Outputs: output.outputVariables.<name>, output.exitCode and exitCode, which
// retry conditions read as <+step.exitCode>. The script itself is run by
// delegate/shell.
package shellscript

import (
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ShellScript", New: decode} }

// Spec is the step's spec.
type Spec struct {
	Script
	Directory yamldoc.Field[string] // where it runs; empty: a new one
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		if s.Key(e, r) {
			continue
		}
		switch e.Key {
		case "onDelegate":
			if on := r.Bool(e); on.Set && on.Expr == "" && !on.Value {
				r.Unsupported(e, "running a script on another host isn't supported yet; want onDelegate: true")
			}
		case "executionTarget":
			s.target(e, r)
		case "outputAlias":
			if !e.Null() {
				r.Unsupported(e, "publishing outputs under an alias isn't supported yet")
			}
		case "includeInfraSelectors":
			if on := r.Bool(e); on.Value {
				r.Unsupported(e, "taking the infrastructure's selectors isn't supported yet; name them in delegateSelectors")
			}
		case "metadata": // of Harness's editor
		default:
			r.Unknown(e, "shell", "source", "onDelegate", "executionTarget", "environmentVariables", "outputVariables",
				"outputAlias", "includeInfraSelectors", "delegateSelectors", "metadata")
		}
	}
	r.Missing(v, "shell", "source")
	return s
}

// target is the executionTarget. On the delegate itself only its directory
// has a meaning.
func (s *Spec) target(v yamldoc.Value, r *yamldoc.Report) {
	for e := range r.Mapping(v) {
		switch e.Key {
		case "workingDirectory":
			s.Directory = r.String(e)
		case "host", "connectorRef":
			if f := r.String(e); f.Set && step.Text(f) != "" {
				r.Warnf(e, "NO_EFFECT", "%s says nothing to a script that runs on the delegate", e.Key)
			}
		default:
			r.Unknown(e, "host", "connectorRef", "workingDirectory")
		}
	}
}

// Start gives the script to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p, err := s.Payload(in)
	if err != nil {
		return step.Action{}, err
	}
	p.WorkingDirectory = step.Text(s.Directory)
	return step.Action{Task: &step.Task{Kind: task.KindShell, Payload: p, Selectors: in.Selectors}}, nil
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
