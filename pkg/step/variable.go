package step

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Text is a field's text when the step starts. Expressions have been resolved
// by then, so a text that still looks like one is meant as it is.
func Text(f yamldoc.Field[string]) string {
	if f.Expr != "" {
		return f.Expr
	}
	return f.Value
}

// Texts decodes a list of texts. Harness also takes a text with commas, which
// is what an expression for the whole list may give.
func Texts(v yamldoc.Value, d *document.Decoder) []string {
	if !v.Is(yamldoc.Scalar) {
		return d.Strings(v).Value
	}
	f := d.String(v)
	if f.Expr != "" {
		return []string{f.Expr} // a list, once it is resolved
	}
	var list []string
	for part := range strings.SplitSeq(f.Value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// The types of variables (semantics/pipeline §1.5).
const (
	TypeString = "String"
	TypeNumber = "Number"
	TypeSecret = "Secret"
)

// Variable is an item of a step's list of variables.
type Variable struct {
	Name  yamldoc.Field[string]
	Type  yamldoc.Field[string]
	Value yamldoc.Field[string]
	At    yamldoc.Value // the item, for further findings
}

// Variables decodes a list of {name, type, value}. Types are those that the
// list may have; the first is what an item has that says none.
func Variables(d *document.Decoder, v yamldoc.Value, types ...string) []Variable {
	var list []Variable
	seen := map[string]int{}
	for item := range d.Items(v) {
		x := Variable{At: item}
		x.Type.Value = types[0]
		d.Fields(item, document.Keys{
			"name":  d.Text(&x.Name),
			"type":  d.Word(&x.Type, types...),
			"value": d.Text(&x.Value),
			// These say nothing to a step.
			"identifier":  document.Nothing,
			"default":     document.Nothing,
			"required":    document.Nothing,
			"description": document.Nothing,
			"metadata":    document.Nothing,
		})
		if !item.Is(yamldoc.Mapping) {
			continue
		}
		d.Missing(item, "name")
		name := x.Name.Value
		if line, twice := seen[name]; twice && name != "" {
			d.Errorf(item, "DUPLICATE_NAME", "variable %q stands twice; the first is in line %d", name, line)
			continue
		}
		seen[name] = x.Name.At.Line
		if err := ref.CheckVariable(name); name != "" && err != nil {
			d.Errorf(item, "WRONG_VALUE", "%s", err)
		}
		list = append(list, x)
	}
	return list
}

// secretID is a reference to a secret, perhaps in another scope.
var secretID = regexp.MustCompile(`^[a-zA-Z0-9_.$-]+$`)

// Resolve is a variable's value when the step starts. That of a Secret is the
// secret's identifier; its value is a placeholder.
func (x Variable) Resolve(in In) (string, error) {
	text := Text(x.Value)
	if x.Type.Value != TypeSecret || text == "" {
		return text, nil
	}
	if !secretID.MatchString(text) {
		// Already a secret, e.g. by <+secrets.getValue("x")>, which works as well.
		return text, nil
	}
	v, err := in.Evaluate(fmt.Sprintf("<+secrets.getValue(%q)>", text), nil)
	if err != nil {
		return "", fmt.Errorf("variable %q: %w", x.Name.Value, err)
	}
	return v.Text(), nil
}

// Late evaluates a value that was left for Finish, with more names. A value
// without <+...> that has one of the names in it is an expression as a whole:
// brackets may be left out there (semantics/pipeline §3.4).
func (in In) Late(text string, names map[string]expr.Value) (expr.Value, error) {
	if strings.Contains(text, "<+") {
		return in.Interpolate(text, names)
	}
	for name := range names {
		if strings.Contains(text, name) {
			return in.Evaluate(text, names)
		}
	}
	return expr.String(text), nil
}

// Holds evaluates a late condition. It must give true or false; null is false
// (semantics/pipeline §4).
func (in In) Holds(body string, names map[string]expr.Value) (bool, error) {
	v, err := in.Evaluate(body, names)
	if err != nil {
		return false, err
	}
	if b, ok := v.Bool(); ok {
		return b, nil
	}
	switch text := strings.ToLower(strings.TrimSpace(v.Text())); {
	case v.IsNull():
		return false, nil
	case v.Kind() == expr.KindString && slices.Contains([]string{"true", "false"}, text):
		return text == "true", nil
	}
	return false, fault.New(fault.Invalid, "%s gives %s; want true or false", body, v.Kind())
}
