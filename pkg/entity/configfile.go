package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ConfigFile is a file that expressions may read (semantics/entities §2.5).
type ConfigFile struct {
	Identifier yamldoc.Field[string]
	StoreDoc   *yamldoc.Node // the store, as it stands
	Store      *filesource.Store
}

// configFiles decodes config files.
func (d services) configFiles(v yamldoc.Value) []ConfigFile {
	var out []ConfigFile
	ids := document.Seen{}
	for item := range d.Items(v) {
		one := ConfigFile{Store: &filesource.Store{}}
		d.Fields(item, document.Keys{"configFile": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"identifier": func(v yamldoc.Value) {
					one.Identifier = d.Identifier(v, ref.CheckNodeID)
					d.Unique(ids, v, one.Identifier.Value)
				},
				"spec": func(v yamldoc.Value) {
					d.Fields(v, document.Keys{"store": func(v yamldoc.Value) { d.configStore(v, &one) }})
					d.Need(v, "store")
				},
				"description": document.Nothing,
			})
			d.Need(v, "identifier", "spec")
		}})
		d.Need(item, "configFile")
		out = append(out, one)
	}
	return out
}

func (d services) configStore(v yamldoc.Value, f *ConfigFile) {
	f.StoreDoc, f.Store = v.Node, filesource.Decode(d.Decoder, v, filesource.Form{
		Word: "a config file in a store of the type", Stores: append(filesource.Git(), filesource.Inline, filesource.Harness), // an expression reads it, for which no script runs first
	})
	for _, key := range []string{"paths", "files", "secretFiles"} {
		list := document.Child(document.Child(v, "spec"), key)
		if list.Is(yamldoc.Sequence) && len(list.Node.Items) > 1 {
			d.Warnf(list, document.UnsupportedAtRun, "found %d %s; an expression can't read a config file of several files", len(list.Node.Items), key)
		}
	}
}
