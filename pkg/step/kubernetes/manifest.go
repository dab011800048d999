package kubernetes

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Manifest is a source of files that a step has of its own: manifests, or a
// layer of values.
type Manifest struct {
	id       string
	typ      string
	store    Store
	values   yamldoc.Field[[]string]
	optional yamldoc.Field[bool]
}

// Source decodes a manifestSource: {type: K8sManifest, spec: {store, ...}}.
func Source(r *yamldoc.Report, v yamldoc.Value) *Manifest {
	return decodeManifest(r, v, "K8sManifest")
}

// layers are the types of a step's overrides.
func layers() []string { return []string{"Values", "KustomizePatches", "OpenshiftParam"} }

// Overrides decodes a list of {manifest: {identifier, type, spec}}, low to
// high.
func Overrides(r *yamldoc.Report, v yamldoc.Value) []*Manifest {
	var out []*Manifest
	for item := range r.List(v) {
		for e := range r.Mapping(item) {
			if e.Key != "manifest" {
				r.Unknown(e, "manifest")
				continue
			}
			out = append(out, decodeManifest(r, e, layers()...))
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "manifest")
		}
	}
	return out
}

// decodeManifest decodes a manifest that must be of one of the types.
func decodeManifest(r *yamldoc.Report, v yamldoc.Value, types ...string) *Manifest {
	m := &Manifest{id: word(v, "identifier"), typ: types[0]}
	if typ := word(v, "type"); slices.Contains(types, typ) {
		m.typ = typ
	}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "identifier":
			r.String(e)
		case "type":
			manifestType(r, e, types)
		case "spec":
			m.spec(r, e)
		default:
			r.Unknown(e, "identifier", "type", "spec")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "type", "spec")
	}
	return m
}

func manifestType(r *yamldoc.Report, v yamldoc.Value, types []string) {
	f := r.String(v)
	r.Takes(v, yamldoc.UseEnum, types...)
	if !f.Set || slices.Contains(types, f.Value) {
		return
	}
	want := types[0]
	if len(types) > 1 {
		want = "one of " + strings.Join(types, ", ")
	}
	r.Errorf(v, "WRONG_VALUE", "found %q; want %s", step.Text(f), want)
}

func (m *Manifest) spec(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		switch e.Key {
		case "store":
			if m.typ == "K8sManifest" {
				m.store = DecodeStore(r, e)
			} else {
				m.store = DecodeStore(r, e, Inherited)
			}
		case "valuesPaths":
			if m.typ != "K8sManifest" {
				r.Unknown(e, "store", "optionalValuesYaml")
				continue
			}
			m.values = r.Strings(e)
		case "optionalValuesYaml":
			m.optional = r.Bool(e)
		case "skipResourceVersioning", "enableDeclarativeRollback": // nothing that a step applies is versioned
			r.Bool(e)
		case "metadata": // the console's
		default:
			r.Unknown(e, "store", "valuesPaths", "optionalValuesYaml", "skipResourceVersioning", "enableDeclarativeRollback", "metadata")
		}
	}
	if v.Is(yamldoc.Mapping) {
		r.Missing(v, "store")
	}
}

// Replace has a step's task use the manifest instead of the service's. The step
// has started.
func (m *Manifest) Replace(in step.In, p *task.Kubernetes) error {
	files, err := m.store.Resolve(in)
	if err != nil {
		return fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	p.ApplySource = &task.Manifest{ID: m.String(), Type: m.typ, Store: files, ValuesPaths: m.values.Value, OptionalValuesYAML: m.optional.Value}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Selectors()...)
	return nil
}

// Above puts a step's override into its task, above those that are there. The
// step has started.
func (m *Manifest) Above(in step.In, p *task.Kubernetes) error {
	files, err := m.store.Resolve(in)
	if err != nil {
		return fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	p.Target.Selectors = append(p.Target.Selectors, m.store.Selectors()...)
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
