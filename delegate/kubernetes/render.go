package kubernetes

import (
	"errors"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/gotemplate"
	"github.com/slipway-cd/slipway/delegate/helm/chart"
	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/delegate/sandbox"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
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
	if m != nil && m.Type == origin.Kustomization && (len(r.p.FilePaths) > 0 || r.p.Delete != nil) {
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
	return manifest.Objects(name, text, manifest.Decode)
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
		m, err := r.client.Mapping(o.GroupVersionKind())
		if errors.Is(err, applying.ErrNoKind) && r.definesKind(objects, o) {
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
