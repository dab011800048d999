package shellscript

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Script is what the steps that run a script have in common.
type Script struct {
	Shell       yamldoc.Field[string] // Bash or PowerShell
	Script      yamldoc.Field[string]
	File        yamldoc.Field[string] // of the file store, instead of Script
	Environment []step.Variable
	Outputs     []step.Variable // their values name the shell's variables
}

// Keys are those that it adds to a spec.
func (s *Script) Keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"shell":  d.Word(&s.Shell, "Bash", "PowerShell"),
		"source": func(e yamldoc.Value) { s.source(e, d) },
		"environmentVariables": func(e yamldoc.Value) {
			s.Environment = step.Variables(d, e, step.TypeString, step.TypeNumber, step.TypeSecret)
		},
		"outputVariables": func(e yamldoc.Value) {
			s.Outputs = step.Variables(d, e, step.TypeString, step.TypeNumber, step.TypeSecret)
			for _, o := range s.Outputs {
				checkOutput(o, d)
			}
		},
		"delegateSelectors": d.Words(nil), // the plan's
	}
}

func (s *Script) source(v yamldoc.Value, d *document.Decoder) {
	var kind string
	if n := v.Node.Get("type"); n != nil {
		kind = n.Value
	}
	d.Fields(v, document.Keys{
		"type": d.Word(nil, "Inline", "Harness"),
		"spec": func(e yamldoc.Value) {
			switch kind {
			case "Inline":
				d.Fields(e, document.Keys{"script": d.Text(&s.Script)})
				d.Missing(e, "script")
			case "Harness":
				d.Fields(e, document.Keys{"file": d.File(&s.File)})
				d.Missing(e, "file")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// shellVariable is what a shell can have as a variable.
var shellVariable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable is the shell's variable of an output: the value, or the name where
// the value is blank (semantics/pipeline §7.4).
func variable(o step.Variable) string {
	if text := strings.TrimSpace(step.Text(o.Value)); text != "" {
		return text
	}
	return o.Name.Value
}

func checkOutput(o step.Variable, d *document.Decoder) {
	if o.Value.Expr == "" && !shellVariable.MatchString(variable(o)) {
		d.Errorf(o.At, "WRONG_VALUE", "output variable %q takes the value of %q, which isn't the name of a shell variable", o.Name.Value, variable(o))
	}
	if o.Type.Value == step.TypeSecret && strings.Contains(o.Name.Value, ".") {
		d.Errorf(o.At, "WRONG_VALUE", "found the name %q of a secret output; want one without dots", o.Name.Value)
	}
}

// Payload is what a delegate is given.
func (s *Script) Payload(in step.In) (task.Shell, error) {
	p := task.Shell{Shell: step.Text(s.Shell), Script: step.Text(s.Script)}
	if path := step.Text(s.File); path != "" {
		var err error
		if p.Script, err = in.File(path); err != nil {
			return task.Shell{}, fmt.Errorf("script %s: %w", path, err)
		}
	}
	for _, v := range s.Environment {
		value, err := v.Resolve(in)
		if err != nil {
			return task.Shell{}, fmt.Errorf("environment %w", err)
		}
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		p.Env[v.Name.Value] = value
	}
	for _, o := range s.Outputs {
		if !shellVariable.MatchString(variable(o)) {
			return task.Shell{}, fault.New(fault.Invalid, "output variable %q takes the value of %q, which isn't the name of a shell variable", o.Name.Value, variable(o))
		}
		p.Outputs = append(p.Outputs, task.ShellOutput{
			Name: o.Name.Value, Variable: variable(o), Secret: o.Type.Value == step.TypeSecret, Number: o.Type.Value == step.TypeNumber,
		})
	}
	return p, nil
}
