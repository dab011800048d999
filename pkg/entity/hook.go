package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Hook is a script around an action of a deployment (semantics/entities §2.6).
type Hook struct {
	Identifier yamldoc.Field[string]
	Before     bool // preHook
	Actions    []yamldoc.Field[string]
	Script     yamldoc.Field[string]
}

// hooks reads service hooks and refuses them: no delegate runs them yet.
func (d *decoder) hooks(v yamldoc.Value) []Hook {
	var out []Hook
	for item := range d.Items(v) {
		var one Hook
		d.Fields(item, document.Keys{
			"preHook":  func(v yamldoc.Value) { one = d.hook(v, true) },
			"postHook": func(v yamldoc.Value) { one = d.hook(v, false) },
		})
		d.OneOf(item, "preHook", "postHook")
		d.Refuse("service hooks aren't supported")(item)
		out = append(out, one)
	}
	return out
}

func (d *decoder) hook(v yamldoc.Value, before bool) Hook {
	h := Hook{Before: before}
	var store yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"identifier": func(v yamldoc.Value) { h.Identifier = d.Identifier(v, ref.CheckNodeID) },
		"storeType":  d.Literal(&store, "Inline"),
		"store":      func(v yamldoc.Value) { d.Fields(v, document.Keys{"content": d.Text(&h.Script)}) },
		"actions": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				h.Actions = append(h.Actions, d.Enum(item, "FetchFiles", "TemplateManifest", "SteadyStateCheck"))
			}
		},
		"description": document.Nothing,
	})
	d.Need(v, "identifier", "storeType", "store")
	return h
}
