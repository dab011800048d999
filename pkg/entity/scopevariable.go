package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ScopeVariable is a variable of an account, an organization or a project
// (pipeline spec §1.5), which expressions know as <+variable.account.X>,
// <+variable.org.X> and <+variable.X>.
type ScopeVariable struct {
	Value yamldoc.Field[string] // a fixed text, never an expression
}

func (d *decoder) scopeVariable(v yamldoc.Value, e *Entity) *ScopeVariable {
	one := &ScopeVariable{}
	var typ, valueType yamldoc.Field[string]
	d.fields(v, merge(d.meta(e), keys{
		"type": d.supported(&typ, "variable type", []string{"String"}, "Secret"),
		"spec": func(v yamldoc.Value) {
			d.fields(v, keys{
				"valueType": d.supported(&valueType, "the value type", []string{"FIXED"}, "FIXED_SET", "REGEX"),
				"fixedValue": func(v yamldoc.Value) {
					if one.Value = d.String(v); strings.Contains(one.Value.Expr, "<+") {
						d.Errorf(v, wrongValue, "found an expression; want a fixed text: a variable of a scope belongs to no run")
					}
				},
				"allowedValues": d.refuse("sets of values of a variable aren't supported"),
				"regex":         d.refuse("patterns of a variable aren't supported"),
				"defaultValue":  d.refuse("default values of a variable aren't supported"),
			})
			d.need(v, "valueType", "fixedValue")
		},
	}))
	d.need(v, "identifier", "name", "type", "spec")
	return one
}
