package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ConfigFile is a file that expressions may read (semantics/entities §2.5).
type ConfigFile struct {
	Identifier yamldoc.Field[string]
	StoreType  yamldoc.Field[string]
	Content    yamldoc.Field[string] // of an Inline store
	Git        GitStore
	Files      FileStore
}

// configFiles decodes config files.
func (d *decoder) configFiles(v yamldoc.Value) []ConfigFile {
	var out []ConfigFile
	ids := document.Seen{}
	for item := range d.Items(v) {
		var one ConfigFile
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

func (d *decoder) configStore(v yamldoc.Value, f *ConfigFile) {
	typ := document.Peek(v, "type")
	// An expression reads it, for which no script runs first.
	can := slices.DeleteFunc(stores(ManifestK8s), func(s string) bool { return s == storeScript })
	d.Fields(v, document.Keys{
		"type": d.Supported(&f.StoreType, "a config file in a store of the type", can, append(otherStores(ManifestK8s), storeScript)...),
		"spec": func(v yamldoc.Value) {
			switch {
			case typ == "Inline":
				d.Fields(v, document.Keys{"content": d.Text(&f.Content)})
				d.Need(v, "content")
			case typ == storeHarness:
				d.fileStore(v, ManifestK8s, &f.Files)
			case slices.Contains(gitStores(), typ):
				d.gitStore(v, ManifestK8s, &f.Git)
			}
			for _, key := range []string{"paths", "files", "secretFiles"} {
				if list := document.Child(v, key); list.Is(yamldoc.Sequence) && len(list.Node.Items) > 1 {
					d.Warnf(list, unsupportedAtRun, "found %d %s; an expression can't read a config file of several files", len(list.Node.Items), key)
				}
			}
		},
	})
	d.Need(v, "type", "spec")
}
