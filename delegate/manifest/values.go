package manifest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// revisionExpression is resolved here: only a delegate knows the release's number.
const revisionExpression = "<+kubernetes.release.revision>"

// Values merges the layers of values of a manifest, low to high: its folders'
// defaults, its own valuesPaths, then the layers above (entities spec §8).
func (s Source) Values(ctx context.Context, m *task.Manifest, files Files, above []task.ValuesFile) (map[string]any, error) {
	layers := slices.Clone(files.Defaults)
	for _, p := range m.ValuesPaths {
		path := strings.TrimPrefix(p, "/")
		full, err := Inside(files.Root, path)
		if err == nil {
			var text []byte
			if text, err = os.ReadFile(full); err == nil {
				layers = append(layers, File{Name: path, Text: string(text)})
			}
		}
		if err != nil && !m.OptionalValuesYAML {
			return nil, fault.New(fault.NotFound, "values file %q isn't in the repository", p)
		}
	}
	for _, v := range above {
		more, err := s.valuesFile(ctx, v)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	if err := s.resolve(ctx, layers); err != nil {
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
// layers above (kubernetes spec §4.4).
func (s Source) Patches(ctx context.Context, m *task.Manifest, files Files, above []task.ValuesFile) ([]File, error) {
	var out []File
	if m.Kustomize != nil {
		for _, p := range m.Kustomize.PatchesPaths {
			full, err := Inside(files.Root, strings.TrimPrefix(p, "/"))
			if err != nil {
				return nil, fault.New(fault.CodeOf(err), "patch %q: %w", p, err)
			}
			text, err := os.ReadFile(full)
			if err != nil {
				return nil, fault.New(fault.NotFound, "patch %q can't be read", p)
			}
			out = append(out, File{Name: p, Text: string(text)})
		}
	}
	for _, v := range above {
		more, err := s.valuesFile(ctx, v)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	for _, f := range out {
		s.say("Patch: %s", f.Name)
	}
	return out, s.resolve(ctx, out)
}

func (s Source) valuesFile(ctx context.Context, v task.ValuesFile) ([]File, error) {
	if v.Store.Git == nil {
		return []File{{Name: v.ID, Text: v.Store.Inline}}, nil
	}
	got, err := s.Git.Fetch(ctx, *v.Store.Git, s.Stage)
	if err != nil {
		return nil, err
	}
	var out []File
	for _, p := range v.Store.Git.Paths {
		files, values, err := readPath(got.Dir, p)
		if err != nil {
			if v.Optional {
				continue
			}
			return nil, fault.New(fault.CodeOf(err), "values %s: %s, path %s: %w", v.ID, v.Store.Git.URL, p, err)
		}
		out = append(out, append(values, files...)...)
	}
	return out, nil
}

// One reads the only file of a store that isn't the service's, such as a
// patch, with its expressions resolved; what is its name if it is inline.
func (s Source) One(ctx context.Context, what string, from task.Store) (File, error) {
	files, err := s.valuesFile(ctx, task.ValuesFile{ID: what, Store: from})
	if err != nil {
		return File{}, err
	}
	if len(files) != 1 {
		return File{}, fault.New(fault.Invalid, "the source of the %s has %d files; want one", what, len(files))
	}
	err = s.resolve(ctx, files)
	return files[0], err
}

// resolve has the control plane resolve the expressions of values files, all
// in one question.
func (s Source) resolve(ctx context.Context, layers []File) error {
	ask := map[string]string{}
	for i, l := range layers {
		l.Text = strings.ReplaceAll(l.Text, revisionExpression, fmt.Sprint(s.Revision))
		layers[i].Text = l.Text
		if strings.Contains(l.Text, "<+") {
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
	var m map[string]any
	err = utiljson.Unmarshal(doc, &m)
	return m, err
}
