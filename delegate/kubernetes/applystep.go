package kubernetes

import (
	"context"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// chosen renders the manifests of some files: paths below the manifest's
// path, also of files that ask to be skipped by deployments.
func (s *session) chosen(ctx context.Context, paths []string, everything bool) ([]*unstructured.Unstructured, error) {
	log := s.env.Log(unitFetch)
	m := s.p.Target.Manifest
	if s.p.ApplySource != nil {
		m = s.p.ApplySource
	}
	files, defaults, root, err := s.fetch(ctx, m, log)
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f source) bool { return isValues(m, f) })
	if !everything {
		if files, err = choose(files, paths); err != nil {
			return nil, err
		}
	}
	values := map[string]any{}
	if !s.p.SkipRendering {
		if values, err = s.values(ctx, m, defaults, root, s.p.ApplyValues, log); err != nil {
			return nil, err
		}
	}
	objects, err := render(files, values, s.p.SkipRendering)
	if err != nil {
		return nil, err
	}
	if len(objects) == 0 {
		return nil, fault.New(fault.Invalid, "the files render to nothing")
	}
	return sorted(objects), s.place(objects)
}

// choose finds files by their names or by a folder.
func choose(files []source, paths []string) ([]source, error) {
	var out []source
	for _, p := range paths {
		clean := strings.TrimPrefix(path.Clean(p), "/")
		n := len(out)
		for _, f := range files {
			if f.name == clean || strings.HasPrefix(f.name, clean+"/") || strings.HasSuffix("/"+clean, "/"+f.name) {
				out = append(out, f)
			}
		}
		if len(out) == n {
			return nil, fault.New(fault.NotFound, "the manifests have no file %q", p)
		}
	}
	return out, nil
}

// applyStep is K8sApply (kubernetes spec §15): nothing is versioned, nothing
// is kept for a rollback, and every kind is waited for, Jobs too.
func (s *session) applyStep(ctx context.Context) (task.Result, error) {
	objects, err := s.chosen(ctx, s.p.FilePaths, len(s.p.FilePaths) == 0 && s.p.ApplySource != nil)
	if err != nil {
		return task.Result{}, err
	}
	if s.flags.DryRun {
		return s.onlyDryRun(ctx, objects)
	}
	if err := s.dryRun(ctx, objects); err != nil {
		return task.Result{}, err
	}
	if err := s.apply(ctx, objects, false, s.env.Log(unitApply)); err != nil {
		return task.Result{}, err
	}
	var waited []*unstructured.Unstructured
	for _, o := range objects {
		if isWorkload(o.GetKind()) || o.GetKind() == "Job" || isCustom(o) {
			waited = append(waited, o)
		}
	}
	if err := s.steady(ctx, waited); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("applied", objects, nil))
}

// onlyDryRun is K8sApply with --dry-run: nothing is changed, so nothing is
// waited for.
func (s *session) onlyDryRun(ctx context.Context, objects []*unstructured.Unstructured) (task.Result, error) {
	if err := s.apply(ctx, objects, true, s.env.Log(unitApply)); err != nil {
		return task.Result{}, err
	}
	say(s.env.Log(unitApply), "Dry run: nothing was applied")
	return s.done(nil)
}
