package kubernetes

import (
	"errors"
	"fmt"
	"io"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// skipDirective excludes a file, if it is its first line
// (semantics/kubernetes §5).
const skipDirective = "# harness.io/skip-file-for-deploy"

// source reads the task's manifests and values.
// renderer makes objects of what the service's manifests say, whatever they are
// written in.
type renderer struct {
	client  *client
	work    task.Work
	p       lane.Spec
	env     executor.Env
	git     *gitfetch.Fetcher
	charts  *chart.Repos
	seed    []byte // of random values
	sandbox *sandbox.Sandbox
	extract *manifest.Extractor
	number  int // of the release that is being made, which manifests may name; 0: none
}

func (r *renderer) source() manifest.Source {
	t, m := r.p.Target, r.p.Target.Manifest
	if r.p.ApplySource != nil {
		m = r.p.ApplySource
	}
	source := manifest.Source{
		Git: r.git, Stage: r.work.Execution + r.work.Stage, Revision: r.number, Resolve: r.env.Resolve, Files: r.env.Files,
		Dir: r.env.Dir, Log: r.env.Log(unitFetch), Extract: r.extract,
		Places: manifest.Places(m, t.Values, t.Patches, t.Params, r.p.ApplyValues, r.p.ApplyPatches, r.p.ApplyParams),
	}
	if m != nil && m.Type == lane.Kustomization && (len(r.p.FilePaths) > 0 || r.p.Delete != nil) {
		return source.Needs(m) // folders from the repository's root
	}
	return source
}

// render makes objects of manifest files: each file is a template of its own.
func render(files []manifest.File, values map[string]any, skipTemplates bool) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for _, f := range files {
		text := f.Text
		if !skipTemplates {
			var err error
			if text, err = gotemplate.Execute(f, values); err != nil {
				return nil, err
			}
		}
		objects, err := parse(f.Name, text)
		if err != nil {
			return nil, err
		}
		out = append(out, objects...)
	}
	return out, unique(out)
}

// parse splits a text into its objects; lists are expanded.
func parse(name, text string) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	for i, doc := range documents(text) {
		m, err := manifest.Decode(doc)
		if err == nil {
			err = onlyOne(doc)
		}
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
		found, err := expand(o)
		if err != nil {
			return nil, fault.Wrap(err, "%s, document %d", name, i+1)
		}
		out = append(out, found...)
	}
	return out, nil
}

// expand gives the objects of a list, or the object itself. Items of a list of
// one kind, such as a ServiceList, needn't say their kind.
func expand(o *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	of, isList := strings.CutSuffix(o.GetKind(), "List")
	items, hasItems := o.Object["items"].([]any)
	if !isList || !hasItems {
		if o.GetName() == "" {
			return nil, fault.New(fault.Invalid, "a %s without metadata.name", o.GetKind())
		}
		return []*unstructured.Unstructured{coerce(o)}, nil
	}
	var out []*unstructured.Unstructured
	for i, item := range items {
		inner := &unstructured.Unstructured{}
		inner.Object, _ = item.(map[string]any)
		if of != "" && inner.Object != nil && inner.GetKind() == "" {
			inner.SetKind(of)
			inner.SetAPIVersion(o.GetAPIVersion())
		}
		if inner.GetKind() == "" || inner.GetAPIVersion() == "" {
			return nil, fault.New(fault.Invalid, "item %d of the %s has no kind or apiVersion", i+1, o.GetKind())
		}
		found, err := expand(inner)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// documents splits at lines that begin a document.
func documents(text string) []string {
	var out []string
	var b strings.Builder
	for line := range strings.Lines(text) {
		if rest, begins := begun(line); begins {
			out = append(out, b.String())
			b.Reset()
			line = rest
		}
		b.WriteString(line)
	}
	return append(out, b.String())
}

// begun says whether a line begins a document, by "---" alone or with a blank
// behind it, and gives what the line has of that document.
func begun(line string) (string, bool) {
	rest, marked := strings.CutPrefix(line, "---")
	if strings.Trim(rest, "- \t\r\n") == "" {
		return "", marked
	}
	first := strings.TrimLeft(rest, " \t")
	return first, marked && first != rest
}

// onlyOne refuses a text of several documents, such as one JSON object after
// another: reading it takes the first of them and drops the others.
func onlyOne(doc string) error {
	d := yaml3.NewDecoder(strings.NewReader(doc))
	var n yaml3.Node
	if d.Decode(&n) != nil || errors.Is(d.Decode(&n), io.EOF) {
		return nil // what can't be read at all is reported by who reads it
	}
	return fault.New(fault.Invalid, "a second object follows; want a line of --- between them")
}

// coerce makes texts of annotation and label values that YAML read as
// something else (semantics/kubernetes §4.6), and numbers of JSON's as
// Kubernetes has them.
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
// unless they name one (semantics/kubernetes §2).
func (r *renderer) place(objects []*unstructured.Unstructured) error {
	for _, o := range objects {
		m, err := r.client.mapping(o.GroupVersionKind())
		if errors.Is(err, errNoKind) && r.definesKind(objects, o) {
			continue
		}
		if err != nil {
			return err
		}
		if m.Scope.Name() != meta.RESTScopeNameNamespace {
			o.SetNamespace("")
		} else if o.GetNamespace() == "" {
			o.SetNamespace(r.p.Target.Namespace)
		}
	}
	return nil
}

// definesKind says whether the manifests bring the definition of o's kind; a
// namespaced one is given the namespace here, because the cluster can't tell.
func (r *renderer) definesKind(objects []*unstructured.Unstructured, o *unstructured.Unstructured) bool {
	for _, d := range objects {
		if d.GetKind() != kindDefinition || text(d, "spec", "names", "kind") != o.GetKind() {
			continue
		}
		if o.GetNamespace() == "" && text(d, "spec", "scope") == "Namespaced" {
			o.SetNamespace(r.p.Target.Namespace)
		}
		return true
	}
	return false
}
