package entity

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Variable is one of a pipeline, stage, step group, service or environment
// (semantics/pipeline §1.5).
type Variable struct {
	Doc         *yamldoc.Node // all of it
	Name        yamldoc.Field[string]
	Type        yamldoc.Field[string] // String, Number or Secret; Connector in custom deployments
	Value       yamldoc.Field[string] // of a Secret: the secret's identifier
	Default     yamldoc.Field[string]
	Description yamldoc.Field[string]
	Required    yamldoc.Field[bool]
}

var number = regexp.MustCompile(`^[+-]?\d*\.?\d+$`)

// variableConnector is the type of a variable that names a connector.
const variableConnector = "Connector"

// variables binds a list of variables, of more types than usual.
func (d *decoder) variables(list *[]Variable, more ...string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		names := document.Seen{}
		for item := range d.Items(v) {
			one := d.variable(item, more...)
			d.Unique(names, item, one.Name.Value)
			*list = append(*list, one)
		}
	}
}

func (d *decoder) variable(v yamldoc.Value, more ...string) Variable {
	one := Variable{Doc: v.Node}
	d.Fields(v, document.Keys{
		"name":        func(v yamldoc.Value) { one.Name = d.variableName(v) },
		"type":        d.Literal(&one.Type, append([]string{"String", "Number", "Secret"}, more...)...),
		"value":       d.variableValue(document.Peek(v, "type"), &one.Value),
		"default":     d.variableValue(document.Peek(v, "type"), &one.Default),
		"description": d.Text(&one.Description),
		"required":    d.Flag(&one.Required),
		"metadata":    document.Nothing, // the console's
	})
	d.Need(v, "name", "type")
	if v.Is(yamldoc.Mapping) && v.Node.Get("value") == nil {
		d.Errorf(v, document.MissingKey, `key "value" is missing; it may be empty`)
	}
	return one
}

func (d *decoder) variableName(v yamldoc.Value) yamldoc.Field[string] {
	return d.Spelled(v, document.BadName, ref.CheckVariable)
}

// variableValue binds a value or a default, as the variable's type wants it.
func (d *decoder) variableValue(typ string, f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		switch {
		case typ == "Number" && f.Value != "" && !number.MatchString(f.Value):
			d.Errorf(v, document.WrongValue, "found %q; want a number", f.Value)
		case typ == "Secret" && strings.Contains(f.Expr, "secrets.getValue("):
			d.Errorf(v, document.WrongValue, "found an expression; want the identifier of a secret alone")
		case typ == "Secret":
			d.refer(ref.Secret, v, f.Value)
		case typ == variableConnector:
			d.refer(ref.Connector, v, f.Value)
		}
	}
}
