// Package shellscript is the step type ShellScript: a Bash or PowerShell
// script on a delegate (pipeline spec §7.4).
//
// Outputs: output.outputVariables.<name>, output.exitCode and exitCode, which
// retry conditions read as <+step.exitCode>. The script itself is run by
// delegate/shell.
package shellscript

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: "ShellScript", New: decode} }

// Spec is the step's spec.
type Spec struct {
	Shell       yamldoc.Field[string] // Bash or PowerShell
	Script      yamldoc.Field[string]
	Directory   yamldoc.Field[string] // where it runs; empty: a new one
	Environment []step.Variable
	Outputs     []step.Variable // their values name the shell's variables
}

func decode(doc *yamldoc.Node, r *yamldoc.Report) step.Spec {
	s := &Spec{}
	v := yamldoc.Sub(doc, "")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "shell":
			s.Shell = r.Enum(e, "Bash", "PowerShell")
		case "source":
			s.source(e, r)
		case "onDelegate":
			if on := r.Bool(e); on.Set && on.Expr == "" && !on.Value {
				r.Unsupported(e, "running a script on another host isn't supported yet; want onDelegate: true")
			}
		case "executionTarget":
			s.target(e, r)
		case "environmentVariables":
			s.Environment = step.Variables(r, e, step.TypeString, step.TypeNumber, step.TypeSecret)
		case "outputVariables":
			s.Outputs = step.Variables(r, e, step.TypeString, step.TypeNumber, step.TypeSecret)
		case "outputAlias":
			if !e.Null() {
				r.Unsupported(e, "publishing outputs under an alias isn't supported yet")
			}
		case "includeInfraSelectors":
			if on := r.Bool(e); on.Value {
				r.Unsupported(e, "taking the infrastructure's selectors isn't supported yet; name them in delegateSelectors")
			}
		case "delegateSelectors": // the plan's
			r.Strings(e)
		case "metadata": // of Harness's editor
		default:
			r.Unknown(e, "shell", "source", "onDelegate", "executionTarget", "environmentVariables", "outputVariables",
				"outputAlias", "includeInfraSelectors", "delegateSelectors", "metadata")
		}
	}
	r.Missing(v, "shell", "source")
	for _, o := range s.Outputs {
		checkOutput(o, r)
	}
	return s
}

func (s *Spec) source(v yamldoc.Value, r *yamldoc.Report) {
	kind := r.Enum(yamldoc.Sub(v.Node.Get("type"), v.Path+".type"), "Inline", "Harness")
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type":
			if kind.Value == "Harness" {
				r.Unsupported(e, "scripts from the file store aren't supported yet; want type Inline")
			}
		case "spec":
			for e := range r.Mapping(e) {
				switch e.Key {
				case "script":
					s.Script = r.String(e)
				case "file": // of type Harness, which is refused as a whole
				default:
					r.Unknown(e, "script")
				}
			}
			if kind.Value == "Inline" {
				r.Missing(e, "script")
			}
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
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

// shellVariable is what a shell can have as a variable.
var shellVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable is the shell's variable of an output: the value, or the name where
// the value is blank (pipeline spec §7.4).
func variable(o step.Variable) string {
	if text := strings.TrimSpace(step.Text(o.Value)); text != "" {
		return text
	}
	return o.Name.Value
}

func checkOutput(o step.Variable, r *yamldoc.Report) {
	if o.Value.Expr == "" && !shellVariable.MatchString(variable(o)) {
		r.Errorf(o.At, "WRONG_VALUE", "output variable %q takes the value of %q, which isn't the name of a shell variable", o.Name.Value, variable(o))
	}
	if o.Type.Value == step.TypeSecret && strings.Contains(o.Name.Value, ".") {
		r.Errorf(o.At, "WRONG_VALUE", "found the name %q of a secret output; want one without dots", o.Name.Value)
	}
}

// Start gives the script to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p := task.Shell{Shell: step.Text(s.Shell), Script: step.Text(s.Script), WorkingDirectory: step.Text(s.Directory)}
	for _, v := range s.Environment {
		value, err := v.Resolve(in)
		if err != nil {
			return step.Action{}, fmt.Errorf("environment %w", err)
		}
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		p.Env[v.Name.Value] = value
	}
	for _, o := range s.Outputs {
		if !shellVariable.MatchString(variable(o)) {
			return step.Action{}, fault.New(fault.Invalid, "output variable %q takes the value of %q, which isn't the name of a shell variable", o.Name.Value, variable(o))
		}
		p.Outputs = append(p.Outputs, task.ShellOutput{
			Name: o.Name.Value, Variable: variable(o), Secret: o.Type.Value == step.TypeSecret, Number: o.Type.Value == step.TypeNumber,
		})
	}
	return step.Action{Task: &step.Task{Kind: task.KindShell, Payload: p, Selectors: in.Selectors}}, nil
}

// Finish takes the delegate's result as it is.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) { return step.Outcome(r), nil }
