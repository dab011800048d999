package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// hooks reads scripts around the actions of a deployment
// (semantics/entities §2.6) and refuses them: no delegate runs them yet.
func hooks(d *document.Decoder, v yamldoc.Value) {
	for item := range d.Items(v) {
		one := func(v yamldoc.Value) { hook(d, v) }
		d.Fields(item, document.Keys{"preHook": one, "postHook": one})
		d.OneOf(item, "preHook", "postHook")
		d.Refuse("service hooks aren't supported")(item)
	}
}

func hook(d *document.Decoder, v yamldoc.Value) {
	var store yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"identifier": func(v yamldoc.Value) { d.Identifier(v, ref.CheckNodeID) },
		"storeType":  d.Literal(&store, "Inline"),
		"store":      func(v yamldoc.Value) { d.Fields(v, document.Keys{"content": d.Text(nil)}) },
		"actions": func(v yamldoc.Value) {
			for item := range d.Items(v) {
				d.Enum(item, "FetchFiles", "TemplateManifest", "SteadyStateCheck")
			}
		},
		"description": document.Nothing,
	})
	d.Need(v, "identifier", "storeType", "store")
}
