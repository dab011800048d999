package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// valueInline is the value type of a SecretText that Slipway keeps itself.
const valueInline = "Inline"

func builtIn(manager string) bool {
	return strings.TrimPrefix(strings.TrimPrefix(manager, "account."), "org.") == builtInManager
}

// secretManager decodes who keeps a secret: Slipway itself keeps values, a
// connector anything else.
func (d settings) secretManager(v yamldoc.Value, valueType string) yamldoc.Field[string] {
	f := d.String(v)
	d.Plain(v, f.Expr, "the identifier of a connector")
	switch own := builtIn(f.Value); {
	case f.Value == "":
	case own && (valueType == connector.ValueCustom || valueType == connector.ValueReference):
		d.Errorf(v, document.WrongValue, "%s keeps values itself; the value type %s is for connectors to other managers", builtInManager, valueType)
	case !own && valueType == valueInline:
		d.Unsupported(v, "values that a manager besides %s keeps can't be written yet; want the value type %s or %s", builtInManager, connector.ValueReference, connector.ValueCustom)
	case !own:
		d.refer(ref.Connector, v, f.Value)
	}
	return f
}

// customValues checks the value of a secret of a custom manager, which isn't
// secret itself.
func (d settings) customValues(v yamldoc.Value) {
	if v.Null() || !v.Is(yamldoc.Scalar) {
		return
	}
	if _, err := connector.CustomValues(v.Node.Value); err != nil {
		d.Errorf(v, document.WrongValue, "%s", err)
	}
}

// referNamed adds the reference of an expression to a secret: to the secret, or
// to the manager that is named in its place.
func (d settings) referNamed(v yamldoc.Value, text string) {
	kept, err := d.options.Connectors.Kept(text)
	switch {
	case err != nil:
		d.Unsupported(v, "%s", err)
	case kept == nil:
		d.refer(ref.Secret, v, text)
	default:
		d.refer(ref.Connector, v, kept.Manager)
	}
}
