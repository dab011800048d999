package kubernetes

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// remove is K8sDelete (semantics/kubernetes §15).
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
		gone, err := s.applier.delete(ctx, o)
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
	if s.applier.flags.DryRun {
		say(log, "Dry run: nothing was deleted")
		return s.done(nil)
	}
	if err := s.applier.allGone(ctx, deleted); err != nil {
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
	if d.Type == "ReleaseName" {
		return s.ofRelease(ctx, d.DeleteNamespace)
	}
	objects, err := s.picked(ctx, *d)
	if d.Type == "ManifestPath" {
		slices.Reverse(objects)
	}
	return objects, err
}

// picked are objects that are named, or that manifests have.
func (s *session) picked(ctx context.Context, d lane.ResourceSelection) ([]*unstructured.Unstructured, error) {
	switch d.Type {
	case "ResourceName":
		var out []*unstructured.Unstructured
		for _, name := range d.Names {
			o, err := s.kubectl.named(name)
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
		return out, nil
	case "ManifestPath":
		return s.renderer.chosen(ctx, d.ManifestPaths, d.AllManifests)
	}
	return nil, fault.New(fault.Invalid, "the type of resources is %q; want ResourceName, ManifestPath or ReleaseName", d.Type)
}

// ofRelease is everything that the release's history tells of, workloads
// first, the records last; the namespace only if that is asked for.
func (s *session) ofRelease(ctx context.Context, withNamespace bool) ([]*unstructured.Unstructured, error) {
	all, err := s.history.all(ctx)
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
		record, err := s.history.secretOf(r)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	routes, err := s.network.routes(ctx)
	if err != nil {
		return nil, err
	}
	out = sorted(out)
	slices.Reverse(out)
	return slices.Concat(routes, out, records), nil
}
