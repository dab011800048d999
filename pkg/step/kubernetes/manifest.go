package kubernetes

import (
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

// Overrides decodes a list of {manifest: {identifier, type: Values, spec}},
// low to high.
func Overrides(r *yamldoc.Report, v yamldoc.Value) []*Manifest {
	var out []*Manifest
	for item := range r.List(v) {
		for e := range r.Mapping(item) {
			if e.Key != "manifest" {
				r.Unknown(e, "manifest")
				continue
			}
			out = append(out, decodeManifest(r, e, "Values"))
		}
		if item.Is(yamldoc.Mapping) {
			r.Missing(item, "manifest")
		}
	}
	return out
}

// decodeManifest decodes a manifest that must be of one type.
func decodeManifest(r *yamldoc.Report, v yamldoc.Value, typ string) *Manifest {
	m := &Manifest{id: word(v, "identifier"), typ: typ}
	for e := range r.Mapping(v) {
		switch e.Key {
		case "identifier":
			r.String(e)
		case "type":
			manifestType(r, e, typ)
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

func manifestType(r *yamldoc.Report, v yamldoc.Value, want string) {
	f := r.String(v)
	others := []string{"KustomizePatches", "OpenshiftParam"}
	r.Takes(v, yamldoc.UseEnum, want)
	if want == "Values" {
		r.Takes(v, yamldoc.UseRefused, others...)
	}
	switch {
	case !f.Set || f.Value == want:
	case want == "Values" && (f.Value == others[0] || f.Value == others[1]):
		r.Unsupported(v, "overrides of the type %s aren't supported yet; want %s", f.Value, want)
	default:
		r.Errorf(v, "WRONG_VALUE", "found %q; want %s", step.Text(f), want)
	}
}

func (m *Manifest) spec(r *yamldoc.Report, v yamldoc.Value) {
	for e := range r.Mapping(v) {
		switch e.Key {
		case "store":
			m.store = DecodeStore(r, e)
		case "valuesPaths":
			if m.typ == "Values" {
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

// Resolve is the source of manifests for a task. The step has started.
func (m *Manifest) Resolve(in step.In) (*task.Manifest, error) {
	files, err := m.store.Resolve(in)
	if err != nil {
		return nil, fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	return &task.Manifest{ID: m.String(), Type: m.typ, Store: files, ValuesPaths: m.values.Value, OptionalValuesYAML: m.optional.Value}, nil
}

// Values is the layer of values for a task. The step has started.
func (m *Manifest) Values(in step.In) (task.ValuesFile, error) {
	files, err := m.store.Resolve(in)
	if err != nil {
		return task.ValuesFile{}, fault.New(fault.CodeOf(err), "%s: %w", m, err)
	}
	return task.ValuesFile{ID: m.String(), Store: files, Optional: m.optional.Value}, nil
}

// String is the manifest's name for people.
func (m *Manifest) String() string {
	if m.id != "" {
		return m.id
	}
	return strings.ToLower(m.typ[:1]) + m.typ[1:]
}
