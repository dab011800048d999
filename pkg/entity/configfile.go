package entity

import (
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ConfigFile is a file that expressions may read (entities spec §2.5).
type ConfigFile struct {
	Identifier yamldoc.Field[string]
	StoreType  yamldoc.Field[string]
	Content    yamldoc.Field[string] // of an Inline store
}

// configFiles decodes config files, whose content stands in the document.
func (d *decoder) configFiles(v yamldoc.Value) []ConfigFile {
	var out []ConfigFile
	ids := seen{}
	for item := range d.list(v) {
		var one ConfigFile
		d.fields(item, keys{"configFile": func(v yamldoc.Value) {
			d.fields(v, keys{
				"identifier": func(v yamldoc.Value) {
					one.Identifier = d.identifier(v, ref.CheckNodeID)
					d.unique(ids, v, one.Identifier.Value)
				},
				"spec": func(v yamldoc.Value) {
					d.fields(v, keys{"store": func(v yamldoc.Value) { d.configStore(v, &one) }})
					d.need(v, "store")
				},
				"description": func(yamldoc.Value) {},
			})
			d.need(v, "identifier", "spec")
		}})
		d.need(item, "configFile")
		out = append(out, one)
	}
	return out
}

func (d *decoder) configStore(v yamldoc.Value, f *ConfigFile) {
	typ := peek(v, "type")
	d.fields(v, keys{
		"type": d.supported(&f.StoreType, "a config file in a store of the type", []string{"Inline"}, append(gitStores(), otherStores(ManifestK8s)...)...),
		"spec": func(v yamldoc.Value) {
			if typ == "Inline" {
				d.fields(v, keys{"content": d.text(&f.Content)})
				d.need(v, "content")
			}
		},
	})
	d.need(v, "type", "spec")
}
