package kubernetes

import (
	"context"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// chosen renders the manifests of some files: paths below the manifest's
// path, also of files that ask to be skipped by deployments.
func (r *renderer) chosen(ctx context.Context, paths []string, everything bool) ([]*unstructured.Unstructured, error) {
	m := r.p.Target.Manifest
	if r.p.ApplySource != nil {
		m = r.p.ApplySource
	}
	if err := r.overridesFit(m); err != nil {
		return nil, err
	}
	if objects, ok, err := r.builtChosen(ctx, m, paths, everything); ok {
		return objects, err
	}
	got, err := r.source().Fetch(ctx, m)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(got.Manifests, func(f manifest.File) bool { return isValues(m, f) })
	if !everything {
		if files, err = choose(files, paths); err != nil {
			return nil, err
		}
	}
	values := map[string]any{}
	if !r.p.SkipRendering {
		if values, err = r.source().Values(ctx, m, got, slices.Concat(r.p.Target.Values, r.p.ApplyValues)); err != nil {
			return nil, err
		}
	}
	objects, err := r.render(ctx, files, values, r.p.SkipRendering)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fault.New(fault.Invalid, "the files render to nothing")
	}
	return sorted(objects), r.place(objects)
}

// overridesFit refuses a step's overrides that the manifest has no use for.
func (r *renderer) overridesFit(m *origin.Manifest) error {
	if m == nil {
		return nil // reported when it is fetched
	}
	for _, o := range []struct {
		typ    string
		layers []origin.ValuesFile
		of     []string
	}{
		{"Values", r.p.ApplyValues, []string{origin.PlainManifest, origin.HelmChart}},
		{"KustomizePatches", r.p.ApplyPatches, []string{origin.Kustomization}},
		{"OpenshiftParam", r.p.ApplyParams, []string{origin.OpenshiftTemplate}},
	} {
		if len(o.layers) > 0 && !slices.Contains(o.of, m.Type) {
			return fault.New(fault.Invalid, "override %s is of the type %s, but manifest %s is a %s", o.layers[0].ID, o.typ, m.ID, m.Type)
		}
	}
	return nil
}

// choose finds files by their names or by a folder.
func choose(files []manifest.File, paths []string) ([]manifest.File, error) {
	var out []manifest.File
	for _, p := range paths {
		found := below(files, strings.TrimPrefix(path.Clean(p), "/"))
		if len(found) == 0 {
			return nil, fault.New(fault.NotFound, "the manifests have no file %q", p)
		}
		out = append(out, found...)
	}
	return out, nil
}

// below are the files at a path or in it. A path that begins above the
// manifest's own, such as the repository's root, is of the file whose name is
// the longest end of it: old/web.yaml is never web.yaml where both are.
func below(files []manifest.File, at string) []manifest.File {
	var in, ends []manifest.File
	for _, f := range files {
		if f.Name == at || strings.HasPrefix(f.Name, at+"/") {
			in = append(in, f)
		}
		switch {
		case !strings.HasSuffix("/"+at, "/"+f.Name):
		case len(ends) == 0 || len(f.Name) == len(ends[0].Name):
			ends = append(ends, f)
		case len(f.Name) > len(ends[0].Name):
			ends = []manifest.File{f}
		}
	}
	if len(in) > 0 {
		return in
	}
	return ends
}

// applyStep is K8sApply (semantics/kubernetes §15): nothing is versioned,
// nothing is kept for a rollback, and every kind is waited for, Jobs too.
func (s *session) applyStep(ctx context.Context) (task.Result, error) {
	objects, err := s.renderer.chosen(ctx, s.p.FilePaths, len(s.p.FilePaths) == 0 && s.p.ApplySource != nil)
	if err != nil {
		return task.Result{}, err
	}
	if s.applier.flags.DryRun {
		return s.onlyDryRun(ctx, objects)
	}
	if err := s.applier.dryRun(ctx, objects); err != nil {
		return task.Result{}, err
	}
	if err := s.applier.apply(ctx, objects, s.env.Log(unitApply)); err != nil {
		return task.Result{}, err
	}
	var waited []*unstructured.Unstructured
	for _, o := range objects {
		if isWorkload(o.GetKind()) || o.GetKind() == "Job" || isCustom(o) {
			waited = append(waited, o)
		}
	}
	if err := s.lookout.steady(ctx, waited); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("applied", objects, nil))
}

// onlyDryRun is K8sApply with --dry-run: nothing is changed, so nothing is
// waited for.
func (s *session) onlyDryRun(ctx context.Context, objects []*unstructured.Unstructured) (task.Result, error) {
	found, err := s.applier.rehearse(ctx, objects, s.env.Log(unitApply))
	if err != nil {
		return task.Result{}, err
	}
	tell(found, false, s.env.Log(unitApply))
	say(s.env.Log(unitApply), "Dry run: nothing was applied")
	return s.done(nil)
}
