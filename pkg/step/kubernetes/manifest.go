package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Manifest is a source of files that a step has of its own: manifests, or a
// layer of values.
type Manifest struct {
	id       string
	typ      string
	store    *filesource.Store
	values   yamldoc.Field[[]string]
	optional yamldoc.Field[bool]
}

// Source decodes a manifestSource: {type: K8sManifest, spec: {store, ...}}.
func Source(d *document.Decoder, v yamldoc.Value) *Manifest {
	return decodeManifest(d, v, "K8sManifest")
}

// layers are the types of a step's overrides.
func layers() []string { return []string{"Values", "KustomizePatches", "OpenshiftParam"} }

// Overrides decodes a list of {manifest: {identifier, type, spec}}, low to
// high.
func Overrides(d *document.Decoder, v yamldoc.Value) []*Manifest {
	var out []*Manifest
	for item := range d.List(v) {
		d.Fields(item, document.Keys{"manifest": func(e yamldoc.Value) { out = append(out, decodeManifest(d, e, layers()...)) }})
		d.Need(item, "manifest")
	}
	return out
}

// decodeManifest decodes a manifest that must be of one of the types.
func decodeManifest(d *document.Decoder, v yamldoc.Value, types ...string) *Manifest {
	var typ yamldoc.Field[string]
	m := &Manifest{id: document.Peek(v, "identifier"), typ: types[0]}
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

func (m *Manifest) spec(d *document.Decoder, v yamldoc.Value) {
	known := document.Keys{
		"optionalValuesYaml":        d.Flag(&m.optional),
		"skipResourceVersioning":    d.Flag(nil),      // nothing that a step applies is versioned
		"enableDeclarativeRollback": d.Flag(nil),      // nothing that a step applies is versioned
		"metadata":                  document.Nothing, // the console's
	}
	if m.typ == "K8sManifest" {
		known["store"] = func(e yamldoc.Value) { m.store = Store(d, e) }
		known["valuesPaths"] = d.Words(&m.values)
	} else {
		known["store"] = func(e yamldoc.Value) { m.store = Store(d, e, filesource.Inherited) }
	}
	d.Fields(v, known)
	d.Need(v, "store")
}

// Replace has a step's task use the manifest instead of the service's. The step
// has started.
func (m *Manifest) Replace(in step.In, p *task.Kubernetes) error {
	files, err := in.Store(m.store)
	if err != nil {
		return fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	p.ApplySource = &task.Manifest{ID: m.String(), Type: m.typ, Store: files, ValuesPaths: m.values.Value, OptionalValuesYAML: m.optional.Value}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Extraction.Selectors.Value...)
	return nil
}

// Above puts a step's override into its task, above those that are there. The
// step has started.
func (m *Manifest) Above(in step.In, p *task.Kubernetes) error {
	files, err := in.Store(m.store)
	if err != nil {
		return fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Extraction.Selectors.Value...)
	layer := task.ValuesFile{ID: m.String(), Store: files, Optional: m.optional.Value}
	switch m.typ {
	case "KustomizePatches":
		p.ApplyPatches = append(p.ApplyPatches, layer)
	case "OpenshiftParam":
		p.ApplyParams = append(p.ApplyParams, layer)
	default:
		p.ApplyValues = append(p.ApplyValues, layer)
	}
	return nil
}

// String is the manifest's name for people.
func (m *Manifest) String() string {
	if m.id != "" {
		return m.id
	}
	return strings.ToLower(m.typ[:1]) + m.typ[1:]
}
