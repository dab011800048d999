package kubernetes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// source is a fetched file: its name below the manifest's path, its place in
// the repository (empty if it is in none), and its text.
type source struct {
	name  string
	place string
	text  string
}

// skipDirective excludes a file, if it is its first line (kubernetes spec §5).
const skipDirective = "# harness.io/skip-file-for-deploy"

// revisionExpression is resolved here: only here the release has its number.
const revisionExpression = "<+kubernetes.release.revision>"

// fetch reads the manifest files of a store, and the values files beside them.
// root is the repository's root, for valuesPaths; empty for inline manifests.
func (s *session) fetch(ctx context.Context, m *task.Manifest, log io.Writer) (files []source, defaults []source, root string, err error) {
	if m == nil {
		return nil, nil, "", fault.New(fault.Invalid, "the service has no manifests")
	}
	if m.Type != "K8sManifest" {
		return nil, nil, "", fault.New(fault.Unsupported, "manifest %s is a %s, which can't be deployed yet; only K8sManifest can", m.ID, m.Type)
	}
	if m.Store.Git == nil {
		return []source{{name: m.ID + ".yaml", text: m.Store.Inline}}, nil, "", nil
	}
	got, err := s.git.Fetch(ctx, *m.Store.Git, s.p.Execution+s.p.Stage)
	if err != nil {
		return nil, nil, "", err
	}
	say(log, "Fetched %s at commit %s", m.Store.Git.URL, got.Commit)
	for _, p := range m.Store.Git.Paths {
		found, values, err := readPath(got.Dir, p)
		if err != nil {
			return nil, nil, "", fault.New(fault.CodeOf(err), "%s, path %s: %w", m.Store.Git.URL, p, err)
		}
		files, defaults = append(files, found...), append(defaults, values...)
	}
	return files, defaults, got.Dir, nil
}

// readPath reads a file, or the YAML files below a folder. A folder's own
// values.yaml holds defaults and is no manifest (kubernetes spec §3).
func readPath(root, path string) (files, values []source, err error) {
	full, err := inside(root, path)
	if err != nil {
		return nil, nil, err
	}
	info, err := os.Stat(full)
	if err != nil {
		return nil, nil, fault.New(fault.NotFound, "there is no such file or folder")
	}
	if !info.IsDir() {
		text, err := os.ReadFile(full)
		return []source{{name: filepath.Base(path), place: filepath.ToSlash(filepath.Clean(path)), text: string(text)}}, nil, err
	}
	err = filepath.WalkDir(full, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isYAML(file) {
			return err
		}
		text, err := os.ReadFile(file) //nolint:gosec // nothing else writes into the fetched commit
		if err != nil {
			return err
		}
		name, err := filepath.Rel(full, file)
		if err != nil {
			return err
		}
		one := source{name: filepath.ToSlash(name), place: filepath.ToSlash(filepath.Join(path, name)), text: string(text)}
		if one.name == "values.yaml" {
			values = append(values, one)
		} else {
			files = append(files, one)
		}
		return nil
	})
	return files, values, err
}

// inside joins a path to a root and keeps it there.
func inside(root, path string) (string, error) {
	full := filepath.Join(root, filepath.FromSlash(path))
	if rel, err := filepath.Rel(root, full); err != nil || strings.HasPrefix(rel, "..") {
		return "", fault.New(fault.Invalid, "path %q leads out of the repository", path)
	}
	real, err := filepath.EvalSymlinks(full)
	if err != nil {
		return "", fault.New(fault.NotFound, "there is no such file or folder")
	}
	base, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(base, real); err != nil || strings.HasPrefix(rel, "..") {
		return "", fault.New(fault.Invalid, "path %q is a link that leads out of the repository", path)
	}
	return full, nil
}

func isYAML(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// values merges the layers of values, low to high (entities spec §8).
func (s *session) values(ctx context.Context, m *task.Manifest, defaults []source, root string, over []task.ValuesFile, log io.Writer) (map[string]any, error) {
	layers := slices.Clone(defaults)
	for _, p := range m.ValuesPaths {
		path := strings.TrimPrefix(p, "/")
		full, err := inside(root, path)
		if err == nil {
			var text []byte
			if text, err = os.ReadFile(full); err == nil {
				layers = append(layers, source{name: path, text: string(text)})
			}
		}
		if err != nil && !m.OptionalValuesYAML {
			return nil, fault.New(fault.NotFound, "values file %q isn't in the repository", p)
		}
	}
	for _, v := range slices.Concat(s.p.Target.Values, over) {
		more, err := s.valuesFile(ctx, v)
		if err != nil {
			return nil, err
		}
		layers = append(layers, more...)
	}
	layers, err := s.resolve(ctx, layers)
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, l := range layers {
		doc, err := decode(l.text)
		if err != nil {
			return nil, fault.New(fault.Invalid, "values file %s: %w", l.name, err)
		}
		say(log, "Values: %s", l.name)
		merge(merged, doc)
	}
	return merged, nil
}

func (s *session) valuesFile(ctx context.Context, v task.ValuesFile) ([]source, error) {
	if v.Store.Git == nil {
		return []source{{name: v.ID, text: v.Store.Inline}}, nil
	}
	got, err := s.git.Fetch(ctx, *v.Store.Git, s.p.Execution+s.p.Stage)
	if err != nil {
		return nil, err
	}
	var out []source
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

// resolve has the control plane resolve the expressions of values files, all
// in one question.
func (s *session) resolve(ctx context.Context, layers []source) ([]source, error) {
	ask := map[string]string{}
	for i, l := range layers {
		l.text = strings.ReplaceAll(l.text, revisionExpression, fmt.Sprint(s.number))
		layers[i].text = l.text
		if strings.Contains(l.text, "<+") {
			ask[fmt.Sprintf("%d %s", i, l.name)] = l.text
		}
	}
	if len(ask) == 0 {
		return layers, nil
	}
	answers, err := s.env.Resolve(ctx, ask)
	if err != nil {
		return nil, err
	}
	for i, l := range layers {
		if text, ok := answers[fmt.Sprintf("%d %s", i, l.name)]; ok {
			layers[i].text = text
		}
	}
	return layers, nil
}

// merge lays b over a: mappings are merged, all else is replaced.
func merge(a, b map[string]any) {
	for k, v := range b {
		inner, isMap := v.(map[string]any)
		if old, ok := a[k].(map[string]any); ok && isMap {
			merge(old, inner)
			continue
		}
		a[k] = v
	}
}

// functions are what templates may call: sprig without what reads the
// delegate's environment or network (kubernetes spec §4.2).
func functions() template.FuncMap {
	f := sprig.TxtFuncMap()
	for _, name := range []string{"env", "expandenv", "getHostByName"} {
		delete(f, name)
	}
	maps.Copy(f, template.FuncMap{
		"toYaml": func(v any) (string, error) {
			doc, err := yaml.Marshal(v)
			return strings.TrimSuffix(string(doc), "\n"), err
		},
		"fromYaml": decode,
	})
	return f
}

// render makes objects of manifest files: each file is a template of its own.
func render(files []source, values map[string]any, skipTemplates bool) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, f := range files {
		text := f.text
		if !skipTemplates {
			var err error
			if text, err = execute(f, values); err != nil {
				return nil, err
			}
		}
		objects, err := parse(f.name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, unique(out)
}

func execute(f source, values map[string]any) (string, error) {
	t, err := template.New(f.name).Funcs(functions()).Parse(f.text)
	if err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, map[string]any{"Values": values}); err != nil {
		return "", fault.New(fault.Invalid, "%w", err)
	}
	return strings.ReplaceAll(b.String(), "<no value>", ""), nil
}

// parse splits a text into its objects; lists are expanded.
func parse(name, text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for i, doc := range documents(text) {
		m, err := decode(doc)
		if err != nil {
			return nil, fault.New(fault.Invalid, "%s, document %d: %w", name, i+1, err)
		}
		if len(m) == 0 {
			continue
		}
		o := &unstructured.Unstructured{Object: m}
		if o.GetKind() == "" || o.GetAPIVersion() == "" {
			return nil, fault.New(fault.Invalid, "%s, document %d: kind or apiVersion is missing", name, i+1)
		}
		if items, ok := m["items"].([]any); ok && strings.HasSuffix(o.GetKind(), "List") {
			for _, item := range items {
				if inner, ok := item.(map[string]any); ok {
					out = append(out, coerce(&unstructured.Unstructured{Object: inner}))
				}
			}
			continue
		}
		if o.GetName() == "" {
			return nil, fault.New(fault.Invalid, "%s, document %d: a %s without metadata.name", name, i+1, o.GetKind())
		}
		out = append(out, coerce(o))
	}
	return out, nil
}

// documents splits at lines of "---".
func documents(text string) []string {
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") && strings.TrimSpace(strings.TrimLeft(line, "-")) == "" {
			out = append(out, b.String())
			b.Reset()
			continue
		}
		b.WriteString(line)
	}
	return append(out, b.String())
}

// coerce makes texts of annotation and label values that YAML read as
// something else (kubernetes spec §4.6), and numbers of JSON's as Kubernetes has them.
func coerce(o *unstructured.Unstructured) *unstructured.Unstructured {
	for _, key := range []string{"annotations", "labels"} {
		m, ok, _ := unstructured.NestedMap(o.Object, "metadata", key)
		if !ok {
			continue
		}
		for k, v := range m {
			if _, isText := v.(string); !isText {
				m[k] = fmt.Sprint(v)
			}
		}
		set(o, m, "metadata", key)
	}
	return o
}

// unique refuses two objects of one kind and name.
func unique(objects []*unstructured.Unstructured) error {
	seen := map[string]bool{}
	for _, o := range objects {
		if seen[identity(o)] {
			return fault.New(fault.Invalid, "the manifests have %s twice", display(o))
		}
		seen[identity(o)] = true
	}
	return nil
}

// place gives objects of namespaced kinds the infrastructure's namespace
// unless they name one (kubernetes spec §2).
func (s *session) place(objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		m, err := s.client.mapping(o.GroupVersionKind())
		if errors.Is(err, errNoKind) && s.definesKind(objects, o) {
			continue
		}
		if err != nil {
			return err
		}
		if m.Scope.Name() != meta.RESTScopeNameNamespace {
			o.SetNamespace("")
		} else if o.GetNamespace() == "" {
			o.SetNamespace(s.p.Target.Namespace)
		}
	}
	return nil
}

// definesKind says whether the manifests bring the definition of o's kind; a
// namespaced one is given the namespace here, because the cluster can't tell.
func (s *session) definesKind(objects []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	for _, d := range objects {
		if d.GetKind() != kindDefinition || text(d, "spec", "names", "kind") != o.GetKind() {
			continue
		}
		if o.GetNamespace() == "" && text(d, "spec", "scope") == "Namespaced" {
			o.SetNamespace(s.p.Target.Namespace)
		}
		return true
	}
	return false
}

// decode reads YAML by the rules of version 1.1, as Kubernetes does, with
// whole numbers as int64.
func decode(text string) (map[string]any, error) {
	doc, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var m map[string]any
	err = utiljson.Unmarshal(doc, &m)
	return m, err
}
