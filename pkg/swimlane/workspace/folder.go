package workspace

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// folder is the decoded spec of a manifest that is a folder.
type folder struct {
	Store *filesource.Store
	File  yamldoc.Field[string]
}

// Folder is a kind of manifest that is a folder for a tool; the key file names the
// tool's file in it.
func Folder(typ, file string) swimlane.ManifestKind {
	return swimlane.ManifestKind{
		Type: typ, Main: true, Overrides: true,
		New: func(d *document.Decoder, v yamldoc.Value) any {
			f := &folder{}
			d.Fields(v, document.Keys{
				"store": func(v yamldoc.Value) {
					form := filesource.Form{Of: typ, Stores: append(filesource.Git(), filesource.Harness, filesource.S3), Shape: filesource.Files}
					f.Store = filesource.Decode(d, v, form, document.Keys{"metadata": document.Nothing}) // the console's
				},
				file:       d.Text(&f.File),
				"metadata": document.Nothing, // the console's
			})
			d.Need(v, "store")
			return f
		},
	}
}

// OnlyFolder is the folder of the highest layer, which takes the place of all below
// it, and the name of the tool's file, if one is given; nil: there is none.
func OnlyFolder(r swimlane.Reach, typ string) (m *Manifest, file string, err error) {
	all, err := r.Manifests(func(k swimlane.ManifestKind) bool { return k.Type == typ })
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	last := all[len(all)-1]
	of, ok := last.Spec.(*folder)
	if !ok {
		return nil, "", fault.New(fault.Unsupported, "manifest %s has the type %s, which is no folder", last.ID, last.Kind.Type)
	}
	store, err := r.Store(of.Store, "")
	if err != nil {
		return nil, "", fault.Wrap(err, "manifest %s", last.ID)
	}
	return &Manifest{ID: last.ID, Store: store}, of.File.Value, nil
}
