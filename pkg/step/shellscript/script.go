package shellscript

import (
	"fmt"
	"regexp"
	"strings"

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

// Key decodes a key of a script step's spec; false if it is the step's own.
func (s *Script) Key(e yamldoc.Value, r *yamldoc.Report) bool {
	switch e.Key {
	case "shell":
		s.Shell = r.Enum(e, "Bash", "PowerShell")
	case "source":
		s.source(e, r)
	case "environmentVariables":
		s.Environment = step.Variables(r, e, step.TypeString, step.TypeNumber, step.TypeSecret)
	case "outputVariables":
		s.Outputs = step.Variables(r, e, step.TypeString, step.TypeNumber, step.TypeSecret)
		for _, o := range s.Outputs {
			checkOutput(o, r)
		}
	case "delegateSelectors": // the plan's
		r.Strings(e)
	default:
		return false
	}
	return true
}

func (s *Script) source(v yamldoc.Value, r *yamldoc.Report) {
	var kind string
	if n := v.Node.Get("type"); n != nil {
		kind = n.Value
	}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "type":
			r.Enum(e, "Inline", "Harness")
		case "spec":
			switch kind {
			case "Inline":
				s.Script = only(r, e, "script")
			case "Harness":
				s.File = only(r, e, "file")
				step.CheckFile(r, yamldoc.Sub(e.Node.Get("file"), e.Path+".file"), s.File.Value)
			}
		default:
			r.Unknown(e, "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
}

// only decodes a mapping of one text.
func only(r *yamldoc.Report, v yamldoc.Value, key string) yamldoc.Field[string] {
	var f yamldoc.Field[string]
	for e := range r.Mapping(v) {
		if e.Key != key {
			r.Unknown(e, key)
			continue
		}
		f = r.String(e)
	}
	r.Missing(v, key)
	return f
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
