package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// revisionExpression is resolved here: only a delegate knows the release's number.
const revisionExpression = "<+kubernetes.release.revision>"

// Values merges the layers of values of a manifest, low to high: its folders'
// defaults, its own valuesPaths, then the layers above (semantics/entities §8).
func (s Source) Values(ctx context.Context, m *origin.Manifest, files Files, above []origin.ValuesFile) (map[string]any, error) {
	layers := slices.Clone(files.Defaults)
	for _, p := range m.ValuesPaths {
		text, err := s.beside(ctx, m, files, p)
		switch {
		case err == nil:
			layers = append(layers, File{Name: strings.TrimPrefix(p, "/"), Text: text})
		case m.OptionalValuesYAML && fault.Is(err, fault.NotFound):
			s.say("Values: %s is optional, and left out: %s", p, err)
		default:
			return nil, fault.Wrap(err, "values file %q", p)
		}
	}
	for _, v := range above {
		more, err := s.layer(ctx, v, files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if err := s.Resolved(ctx, layers); err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, l := range layers {
		doc, err := Decode(l.Text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "values file %s: %w", l.Name, err)
		}
		s.say("Values: %s", l.Name)
		Merge(merged, doc)
	}
	return merged, nil
}

// Patches are those of a Kustomize manifest, low to high: its own, then the
// layers above (semantics/kubernetes §4.4).
func (s Source) Patches(ctx context.Context, m *origin.Manifest, files Files, above []origin.ValuesFile) ([]File, error) {
	var own []string
	if m.Kustomize != nil {
		own = m.Kustomize.PatchesPaths
	}
	return s.layers(ctx, "patch", m, own, files, above)
}

// Params are the files of parameters of an OpenshiftTemplate, low to high: its
// own, then the layers above (semantics/kubernetes §4.5).
func (s Source) Params(ctx context.Context, m *origin.Manifest, files Files, above []origin.ValuesFile) ([]File, error) {
	return s.layers(ctx, "parameters", m, m.ParamsPaths, files, above)
}

// layers reads a manifest's own files of a kind, then those above it.
func (s Source) layers(ctx context.Context, kind string, m *origin.Manifest, own []string, files Files, above []origin.ValuesFile) ([]File, error) {
	var out []File
	for _, p := range own {
		text, err := s.beside(ctx, m, files, p)
		if err != nil {
			return nil, fault.Wrap(err, "%s %q", kind, p)
		}
		out = append(out, File{Name: p, Text: text})
	}
	for _, v := range above {
		more, err := s.layer(ctx, v, files)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	for _, f := range out {
		s.say("%s: %s", strings.ToUpper(kind[:1])+kind[1:], f.Name)
	}
	return out, s.Resolved(ctx, out)
}

// layer reads the files of a layer above a manifest, whose files are those
// that it may inherit.
func (s Source) layer(ctx context.Context, v origin.ValuesFile, files Files) ([]File, error) {
	from := tree{}
	var err error
	switch {
	case v.Store.Files != nil:
		return s.storedValues(ctx, v)
	case v.Store.Git != nil:
		var got gitfetch.Files
		got, err = s.checkout(ctx, *v.Store.Git)
		from = tree{name: v.Store.Git.URL, root: got.Dir, paths: v.Store.Git.Paths}
	case v.Store.Script != nil:
		from = tree{name: "what its script made", paths: []string{v.Store.Script.Path}}
		from.root, err = s.Extract.Folder(ctx, *v.Store.Script)
	case v.Store.Inherited != nil && files.stored:
		v.Store.Files = &task.FileStore{Paths: v.Store.Inherited}
		return s.storedValues(ctx, v)
	case v.Store.Inherited != nil && files.Root == "":
		err = fault.New(fault.Invalid, "%s inherits its files from the main manifest, which has none", v.ID)
	case v.Store.Inherited != nil:
		from = tree{name: "the main manifest's store", root: files.Root, paths: v.Store.Inherited}
	default:
		return []File{{Name: v.ID, Text: v.Store.Inline, Resolved: true}}, nil
	}
	if err != nil {
		return nil, err
	}
	var out []File
	for _, p := range from.paths {
		found, values, err := s.readPath(from.root, p)
		if v.Optional && fault.Is(err, fault.NotFound) {
			s.say("%s: path %s is optional, and left out: %s", v.ID, p, err)
			continue
		}
		if err != nil {
			return nil, fault.Wrap(err, "%s: %s, path %s", v.ID, from.name, p)
		}
		out = append(out, append(values, found...)...)
	}
	return out, nil
}

// All reads the files of a store, with their expressions resolved; what is its
// name if it is inline.
func (s Source) All(ctx context.Context, what string, from task.Store) ([]File, error) {
	files, err := s.layer(ctx, origin.ValuesFile{ID: what, Store: from}, Files{})
	if err != nil {
		return nil, err
	}
	return files, s.Resolved(ctx, files)
}

// One reads the only file of a store that isn't the service's, such as a
// patch, with its expressions resolved; what is its name if it is inline.
func (s Source) One(ctx context.Context, what string, from task.Store) (File, error) {
	files, err := s.All(ctx, what, from)
	if err != nil {
		return File{}, err
	}
	if len(files) != 1 {
		return File{}, fault.New(fault.Invalid, "the source of the %s has %d files; want one", what, len(files))
	}
	return files[0], nil
}

// Resolved has the control plane resolve the expressions of values files, all
// in one question. Texts that it has resolved before aren't read again: whoever
// wrote what they were made of could name a secret.
func (s Source) Resolved(ctx context.Context, layers []File) error {
	ask := map[string]string{}
	for i, l := range layers {
		l.Text = strings.ReplaceAll(l.Text, revisionExpression, fmt.Sprint(s.Revision))
		layers[i].Text = l.Text
		if !l.Resolved && strings.Contains(l.Text, "<+") {
			ask[fmt.Sprintf("%d %s", i, l.Name)] = l.Text
		}
	}
	if len(ask) == 0 {
		return nil
	}
	answers, err := s.Resolve(ctx, ask)
	if err != nil {
		return err
	}
	for i, l := range layers {
		if text, ok := answers[fmt.Sprintf("%d %s", i, l.Name)]; ok {
			layers[i].Text = text
		}
	}
	return nil
}

// Merge lays b over a: mappings are merged, all else is replaced.
func Merge(a, b map[string]any) {
	for k, v := range b {
		inner, isMap := v.(map[string]any)
		if old, ok := a[k].(map[string]any); ok && isMap {
			Merge(old, inner)
			continue
		}
		a[k] = v
	}
}

// Decode reads YAML by the rules of version 1.1, as Kubernetes does, with
// whole numbers as int64.
func Decode(text string) (map[string]any, error) {
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	return mapping(doc)
}

// DecodeStrict is Decode, but refuses a mapping that has a key twice.
func DecodeStrict(text string) (map[string]any, error) {
	doc, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return nil, err
	}
	return mapping(doc)
}

func mapping(doc []byte) (map[string]any, error) {
	var m map[string]any
	err := utiljson.Unmarshal(doc, &m)
	var other *json.UnmarshalTypeError
	if errors.As(err, &other) {
		return nil, fmt.Errorf("it is of the type %s; want a mapping", other.Value)
	}
	return m, err
}

// Encode writes YAML, without the end of its last line.
func Encode(v any) (string, error) {
	doc, err := yaml.Marshal(v)
	return strings.TrimSuffix(string(doc), "\n"), err
}
