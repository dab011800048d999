package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// input fills one runtime input. In a template it stays; one that is asked for
// while the pipeline runs stays for the engine.
func (m *merger) input(n *yamldoc.Node, in expr.Input, at spot) (filled, pruned *yamldoc.Node) {
	if m.late {
		in.AtStart = false // now it is the time; the others have been filled
	}
	r := describe(n, in, at)
	m.found = append(m.found, r)
	if m.inputs != nil {
		m.inputs[n] = r
	}
	if m.overlay {
		return m.overlaid(n, r, at), nil
	}
	if m.template {
		if in.AtStart {
			return n, nil
		}
		return n, n
	}
	value, from := m.given(n, at)
	switch {
	case in.AtStart && value != nil:
		m.strays = append(m.strays, value)
		m.wrong(value, at, NoInput, "is asked for when it starts; a value can't be given before")
		return n, nil
	case in.AtStart:
		return n, nil
	case value != nil:
		m.check(r, value, from, at)
		m.took(r, value, from)
		value = undecided(n, r, value)
	case r.HasDefault:
		m.out.Values = append(m.out.Values, Value{Path: r.Path, Text: r.Default, From: "default"})
		value = undecided(n, r, text(n, r.Default))
	case at.variable != nil && !r.Required:
		value = text(n, "")
	case !r.Required:
		return &yamldoc.Node{Line: n.Line, Column: n.Column, File: n.File}, nil
	default:
		m.out.Missing = append(m.out.Missing, fault.Detail{
			File: n.File, Path: r.Path, Line: n.Line, Column: n.Column, Severity: severityError, Code: missingInput,
			Message: "a value is needed: it is a runtime input without a default",
		})
		return n, n
	}
	return value, value
}

// describe says what an input asks for. A variable's default and required
// count too (semantics/pipeline §1.5); what is only there to hold other inputs
// may be missing, because each of those says itself when it is.
func describe(n *yamldoc.Node, in expr.Input, at spot) Runtime {
	r := Runtime{Path: at.name(), Input: in, Line: n.Line, Column: n.Column, Default: in.Default, HasDefault: in.HasDefault}
	if v := at.variable; v != nil {
		r.Type = scalar(v, "type")
		if d := v.Get("default"); !r.HasDefault && d != nil && d.Kind == yamldoc.Scalar && d.Value != "" {
			r.Default, r.HasDefault = d.Value, true
		}
	}
	r.Required = !in.AtStart && !r.HasDefault && !optional(at)
	return r
}

// optional says that an input without a value is left out: a String variable
// that says required: false, inputs for what a stage deploys, and settings of
// a node that it needn't have (semantics/pipeline §2.1 and §9.3).
func optional(at spot) bool {
	if at.variable != nil {
		return scalar(at.variable, "required") == "false" && scalar(at.variable, "type") == "String"
	}
	switch at.key {
	case "serviceInputs", "environmentInputs", "serviceOverrideInputs", "inputs", "infrastructureInputs",
		"when", "strategy", "failureStrategies", "delegateSelectors", "runMode", "enforce",
		"timeout", "allowStageExecutions", "fixedInputsOnRerun":
		return true
	}
	return false
}

// given finds the value of an input: by its path, else the last source's that
// says something.
func (m *merger) given(n *yamldoc.Node, at spot) (value *yamldoc.Node, byPath bool) {
	if v, ok := m.values[at.name()]; ok {
		delete(m.values, at.name())
		return text(n, v), true
	}
	for i := len(at.given) - 1; i >= 0; i-- {
		if g := at.given[i]; !g.silent() {
			return g.node, false
		}
	}
	return nil, false
}

// took notes a value that an input has been given, and by what.
func (m *merger) took(r Runtime, value *yamldoc.Node, byPath bool) {
	v := Value{Path: r.Path, Text: value.Value, From: "inputs"}
	set, ofSet := strings.CutPrefix(value.File, string(ref.InputSet)+" ")
	switch {
	case byPath:
		v.From = "given"
	case ofSet:
		v.From, v.Set = "set", set
	}
	if v.Structured = value.Kind != yamldoc.Scalar; v.Structured {
		v.Text = string(yamldoc.Format(value, nil))
	}
	m.out.Values = append(m.out.Values, v)
}

// check reports a value that isn't allowed.
func (m *merger) check(r Runtime, value *yamldoc.Node, byPath bool, at spot) {
	if byPath {
		value = &yamldoc.Node{Kind: value.Kind, Value: value.Value} // it stands in no file
	}
	if at.variable != nil && scalar(at.variable, "required") == "true" && value.Kind == yamldoc.Scalar && value.Value == "" {
		m.wrong(value, at, missingInput, "it is required; want a value that isn't empty")
		return
	}
	if err := accepts(r, value); err != nil {
		m.wrong(value, at, notAllowed, err.Error())
	}
	m.unfilled(value, at)
}

// unfilled reports inputs within a value that is a list or a mapping.
func (m *merger) unfilled(value *yamldoc.Node, at spot) {
	for _, r := range Find(value) {
		if value.Kind != yamldoc.Scalar && !r.Input.AtStart {
			m.out.Missing = append(m.out.Missing, fault.Detail{
				File: value.File, Path: at.name() + "." + r.Path, Line: r.Line, Column: r.Column, Severity: severityError, Code: missingInput,
				Message: "found <+input>; want a value",
			})
		}
	}
}

// undecided is a value which says what it must be, if that can be checked only
// when it is resolved (semantics/pipeline §2.1): it, or what it is compared
// with, has expressions.
func undecided(n *yamldoc.Node, r Runtime, value *yamldoc.Node) *yamldoc.Node {
	in := r.Input
	if value.Kind != yamldoc.Scalar || in.Allowed == nil && in.One == nil && in.Many == nil && in.Regex == "" {
		return value
	}
	all := slices.Concat(in.Allowed, in.One, in.Many, []string{value.Value, in.Regex})
	if !strings.Contains(strings.Join(all, "\n"), "<+") {
		return value
	}
	out := *value
	out.Must = n.Value
	if r.Type == "String" { // where allowedValues takes several of its values
		out.Must = strings.Replace(out.Must, ".allowedValues(", ".selectManyFrom(", 1)
	}
	return &out
}

func accepts(r Runtime, value *yamldoc.Node) error {
	in := r.Input
	switch value.Kind {
	case yamldoc.Scalar:
		if r.Type == "String" {
			return in.CheckMany(value.Value)
		}
		return in.Check(value.Value)
	case yamldoc.Sequence:
		for i, one := range value.Items {
			if err := accepts(Runtime{Input: in}, one); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
	case yamldoc.Mapping:
		if in.Allowed != nil || in.One != nil || in.Many != nil || in.Regex != "" {
			return errors.New("found a mapping; want a text")
		}
	case yamldoc.Null:
	}
	return nil
}

func (m *merger) wrong(value *yamldoc.Node, at spot, code, message string) {
	m.out.Wrong = append(m.out.Wrong, fault.Detail{
		File: value.File, Path: at.name(), Line: value.Line, Column: value.Column, Severity: severityError, Code: code, Message: message,
	})
}

// text is a value that is given as a text, at the place of its input.
func text(n *yamldoc.Node, value string) *yamldoc.Node {
	return &yamldoc.Node{Kind: yamldoc.Scalar, Value: value, Line: n.Line, Column: n.Column, File: n.File}
}

func scalar(n *yamldoc.Node, key string) string {
	if f := n.Get(key); f != nil && f.Kind == yamldoc.Scalar {
		return f.Value
	}
	return ""
}
