package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ScopeVariable is a variable of an account, an organization or a project
// (semantics/pipeline §1.5), which expressions know as <+variable.account.X>,
// <+variable.org.X> and <+variable.X>.
type ScopeVariable struct {
	Value yamldoc.Field[string] // a fixed text, never an expression
}

// The value types of a scope's variable.
const (
	fixedValue = "FIXED"
	fixedSet   = "FIXED_SET" // one of some values
	byRegex    = "REGEX"     // what a regular expression matches
)

func (d settings) scopeVariable(v yamldoc.Value, e *Entity) *ScopeVariable {
	one := &ScopeVariable{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type": func(v yamldoc.Value) {
			f := d.String(v)
			d.Takes(v, yamldoc.UseEnum, "String")
			d.Takes(v, yamldoc.UseRefused, "Secret")
			d.Plain(v, f.Expr, "String")
			switch {
			case !f.Set || f.Expr != "" || f.Value == "String":
			case f.Value == "Secret":
				d.Unsupported(v, "variables of a scope are texts, as Harness documents them; let the value be a secret's name and read <+secrets.getValue(<+variable.X>)>")
			default:
				d.Errorf(v, document.WrongValue, "found %q; want String", f.Value)
			}
		},
		"spec": func(v yamldoc.Value) { d.scopeValue(v, one) },
	}))
	d.Need(v, "identifier", "name", "type", "spec")
	return one
}

// scopeValue decodes the value and what it must be like. A value that isn't
// given is the default.
func (d settings) scopeValue(v yamldoc.Value, one *ScopeVariable) {
	var (
		valueType yamldoc.Field[string]
		standard  yamldoc.Field[string]
		in        expr.Input
	)
	typ := document.Peek(v, "valueType")
	plain := func(f *yamldoc.Field[string]) document.Rule {
		return d.PlainText(f, "a fixed text: a variable of a scope belongs to no run")
	}
	only := func(of string, decode func(yamldoc.Value)) func(yamldoc.Value) {
		if typ == of || typ == "" {
			return decode
		}
		return d.Forbid(document.Ambiguous, "only the value type "+of+" has this key")
	}
	d.Fields(v, document.Keys{
		"valueType":    d.Literal(&valueType, fixedValue, fixedSet, byRegex),
		"fixedValue":   plain(&one.Value),
		"defaultValue": plain(&standard),
		"allowedValues": only(fixedSet, func(v yamldoc.Value) {
			if typ == fixedSet {
				d.Filled(v, document.EmptyList, "found no values; want at least one")
			}
			for item := range d.Items(v) {
				var f yamldoc.Field[string]
				plain(&f)(item)
				in.Allowed = append(in.Allowed, f.Value)
			}
		}),
		"regex": only(byRegex, func(v yamldoc.Value) {
			if text := d.String(v).Value; d.pattern(v, text) {
				in.Regex = text
			}
		}),
	})
	d.Need(v, "valueType")
	switch typ {
	case fixedSet:
		d.Need(v, "allowedValues")
	case byRegex:
		d.Need(v, "regex")
	}
	if v.Is(yamldoc.Mapping) && !one.Value.Set && !standard.Set {
		d.Need(v, "fixedValue")
	}
	for _, key := range []string{"fixedValue", "defaultValue"} {
		if text := document.Peek(v, key); v.Node.Get(key) != nil {
			if err := in.Check(text); err != nil {
				d.Errorf(document.Child(v, key), document.WrongValue, "%s", err)
			}
		}
	}
	if !one.Value.Set {
		one.Value = standard
	}
}
