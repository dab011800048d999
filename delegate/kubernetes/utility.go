package kubernetes

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// named makes an object of "[namespace/]Kind/name".
func (s *session) named(ref string) (*unstructured.Unstructured, error) {
	parts := strings.Split(ref, "/")
	namespace := s.p.Target.Namespace
	if len(parts) == 3 {
		namespace, parts = parts[0], parts[1:]
	}
	if len(parts) != 2 || parts[0] == "" || parts[1] == "" {
		return nil, fault.New(fault.Invalid, "%q doesn't name a resource; want [namespace/]Kind/name", ref)
	}
	gvk, err := s.kind(parts[0])
	if err != nil {
		return nil, err
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(gvk)
	o.SetName(parts[1])
	o.SetNamespace(namespace)
	return o, nil
}

// kind finds a kind by its name alone, in any case, as kubectl does. Where
// several groups have one, Kubernetes' own come first.
func (s *session) kind(name string) (schema.GroupVersionKind, error) {
	resource := schema.GroupVersionResource{Resource: strings.ToLower(name)}
	for _, group := range []string{"", "apps", "batch", "networking.k8s.io", "autoscaling", "policy", "rbac.authorization.k8s.io", "storage.k8s.io", "apiextensions.k8s.io"} {
		if m, err := s.client.mapper.RESTMapping(schema.GroupKind{Group: group, Kind: name}); err == nil {
			resource = m.Resource
			break
		}
	}
	gvk, err := s.client.mapper.KindFor(resource)
	if err != nil {
		return schema.GroupVersionKind{}, fault.New(fault.Invalid, "the cluster has no kind %q", name)
	}
	return gvk, nil
}

// scale is K8sScale (kubernetes spec §15). A percentage is of the replicas
// that the workload has before the step.
func (s *session) scale(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitScale)
	w, err := s.named(s.p.Workload)
	if err != nil {
		return task.Result{}, err
	}
	if kind := w.GetKind(); kind != "Deployment" && kind != "StatefulSet" && kind != "ReplicaSet" {
		return task.Result{}, fault.New(fault.Invalid, "%s can't be scaled; want a Deployment, a StatefulSet or a ReplicaSet", display(w))
	}
	live, err := s.get(ctx, w)
	if err != nil {
		return task.Result{}, err
	}
	if live == nil {
		return task.Result{}, fault.New(fault.NotFound, "there is no %s in %s", display(w), w.GetNamespace())
	}
	if s.p.Instances == nil {
		return task.Result{}, fault.New(fault.Invalid, "instanceSelection is missing")
	}
	want := int64(0)
	if s.p.Instances.Count != nil {
		want = int64(*s.p.Instances.Count)
	} else {
		want = percentage(replicas(live), *s.p.Instances.Percentage)
	}
	say(log, "Scaling %s from %d to %d", display(w), replicas(live), want)
	res, err := s.client.resource(w)
	if err != nil {
		return task.Result{}, err
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, want)
	if _, err := res.Patch(ctx, w.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager + "-scale"}, "scale"); err != nil {
		return task.Result{}, about(w, classify(err))
	}
	if err := s.steady(ctx, []*unstructured.Unstructured{w}); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("scaled", []*unstructured.Unstructured{w}, s.instances(ctx, []*unstructured.Unstructured{w}, nil)))
}

// remove is K8sDelete (kubernetes spec §15).
func (s *session) remove(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitDelete)
	targets, err := s.toDelete(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(targets) == 0 {
		say(log, "no resources found")
	}
	var deleted []*unstructured.Unstructured
	for _, o := range targets {
		gone, err := s.delete(ctx, o)
		if err != nil {
			return task.Result{}, err
		}
		if gone {
			deleted = append(deleted, o)
			say(log, "%s deleted", display(o))
		} else {
			say(log, "%s isn't there", display(o))
		}
	}
	if s.flags.DryRun {
		say(log, "Dry run: nothing was deleted")
		return s.done(nil)
	}
	if err := s.allGone(ctx, deleted); err != nil {
		r, _ := s.done(nil, s.changed("deleted", deleted, nil))
		return r, err
	}
	return s.done(nil, s.changed("deleted", deleted, nil))
}

// toDelete lists what K8sDelete deletes, in order.
func (s *session) toDelete(ctx context.Context) ([]*unstructured.Unstructured, error) {
	d := s.p.Delete
	if d == nil {
		return nil, fault.New(fault.Invalid, "deleteResources is missing")
	}
	switch d.Type {
	case "ResourceName":
		var out []*unstructured.Unstructured
		for _, name := range d.Names {
			o, err := s.named(name)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
		return out, nil
	case "ManifestPath":
		objects, err := s.chosen(ctx, d.ManifestPaths, d.AllManifests)
		slices.Reverse(objects)
		return objects, err
	case "ReleaseName":
		return s.ofRelease(ctx, d.DeleteNamespace)
	}
	return nil, fault.New(fault.Invalid, "deleteResources.type is %q; want ResourceName, ManifestPath or ReleaseName", d.Type)
}

// ofRelease is everything that the release's history tells of, workloads
// first, the records last; the namespace only if that is asked for.
func (s *session) ofRelease(ctx context.Context, withNamespace bool) ([]*unstructured.Unstructured, error) {
	all, err := s.history(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out, records []*unstructured.Unstructured
	for _, r := range all {
		for _, o := range r.objects() {
			if key := identity(o); !seen[key] && (o.GetKind() != "Namespace" || withNamespace) {
				seen[key] = true
				out = append(out, o)
			}
		}
		record, err := s.secretOf(r)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	out = sorted(out)
	slices.Reverse(out)
	return append(out, records...), nil
}

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
