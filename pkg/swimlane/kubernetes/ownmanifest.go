package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ownManifest is a source of files that a step has of its own: manifests, or a
// layer of values.
type ownManifest struct {
	id       string
	typ      string
	store    *filesource.Store
	values   yamldoc.Field[[]string]
	optional yamldoc.Field[bool]
}

// manifestSource decodes a manifestSource: {type: K8sManifest, spec: {store, ...}}.
func manifestSource(d *document.Decoder, v yamldoc.Value) *ownManifest {
	return decodeOwnManifest(d, v, origin.PlainManifest)
}

// layers are the types of a step's overrides.
func layers() []string { return []string{values, patches, params} }

// overrides decodes a list of {manifest: {identifier, type, spec}}, low to
// high.
func overrides(d *document.Decoder, v yamldoc.Value) []*ownManifest {
	var out []*ownManifest
	for item := range d.Items(v) {
		d.Fields(item, document.Keys{"manifest": func(e yamldoc.Value) { out = append(out, decodeOwnManifest(d, e, layers()...)) }})
		d.Need(item, "manifest")
	}
	return out
}

// decodeOwnManifest decodes a manifest that must be of one of the types.
func decodeOwnManifest(d *document.Decoder, v yamldoc.Value, types ...string) *ownManifest {
	var typ yamldoc.Field[string]
	m := &ownManifest{id: document.Peek(v, "identifier"), typ: types[0]}
	if typ := document.Peek(v, "type"); slices.Contains(types, typ) {
		m.typ = typ
	}
	d.Fields(v, document.Keys{
		"identifier": d.Text(nil),
		"type":       d.Literal(&typ, types...),
		"spec":       func(e yamldoc.Value) { m.spec(d, e) },
	})
	d.Need(v, "type", "spec")
	return m
}

func (m *ownManifest) spec(d *document.Decoder, v yamldoc.Value) {
	known := document.Keys{
		"optionalValuesYaml":        d.Flag(&m.optional),
		"skipResourceVersioning":    d.Flag(nil),      // nothing that a step applies is versioned
		"enableDeclarativeRollback": d.Flag(nil),      // nothing that a step applies is versioned
		"metadata":                  document.Nothing, // the console's
	}
	if m.typ == origin.PlainManifest {
		known["store"] = func(e yamldoc.Value) { m.store = ownStore(d, e) }
		known["valuesPaths"] = d.Words(&m.values)
	} else {
		known["store"] = func(e yamldoc.Value) { m.store = ownStore(d, e, filesource.Inherited) }
	}
	d.Fields(v, known)
	d.Need(v, "store")
}

// replace has a step's task use the manifest instead of the service's. The step
// has started.
func (m *ownManifest) replace(in step.In, p *Spec) error {
	files, err := in.Store(m.store)
	if err != nil {
		return fault.Wrap(err, "%s", m)
	}
	p.ApplySource = &origin.Manifest{ID: m.String(), Type: m.typ, Store: files, ValuesPaths: m.values.Value, OptionalValuesYAML: m.optional.Value}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Extraction.Selectors.Value...)
	return nil
}

// above puts a step's override into its task, above those that are there. The
// step has started.
func (m *ownManifest) above(in step.In, p *Spec) error {
	files, err := in.Store(m.store)
	if err != nil {
		return fault.Wrap(err, "%s", m)
	}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Extraction.Selectors.Value...)
	layer := origin.ValuesFile{ID: m.String(), Store: files, Optional: m.optional.Value}
	switch m.typ {
	case patches:
		p.ApplyPatches = append(p.ApplyPatches, layer)
	case params:
		p.ApplyParams = append(p.ApplyParams, layer)
	default:
		p.ApplyValues = append(p.ApplyValues, layer)
	}
	return nil
}

// String is the manifest's name for people.
func (m *ownManifest) String() string {
	if m.id != "" {
		return m.id
	}
	return strings.ToLower(m.typ[:1]) + m.typ[1:]
}
