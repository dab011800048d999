package kubernetes

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// canarySuffix marks what a canary step makes beside what serves.
const canarySuffix = "-canary"

// canary is K8sCanaryDeploy of the standard type (semantics/kubernetes §13.1).
func (s *session) canary(ctx context.Context) (task.Result, error) {
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.begin(all, modeCanary)
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return task.Result{}, err
	}
	w, err := single(objects, "canary", "Deployment", "StatefulSet", kindConfig)
	if err != nil {
		return task.Result{}, err
	}
	base, err := s.client.baseReplicas(ctx, objects, w, w)
	if err != nil {
		return task.Result{}, err
	}
	count := selected(s.p.Instances, base)
	current.Versioned = rename(objects, canarySuffix)
	original := w.GetName()
	s.turnCanary(w, count)
	made := append(renameFollowers(objects, w, original, canarySuffix), display(w))
	objects, more, err := s.canaryServices(ctx, objects, w, original, current)
	if err != nil {
		return task.Result{}, err
	}
	current.Made = slices.Concat(made, more, current.Versioned)
	s.applier.beside = display(w)
	if err := s.applier.dryRun(ctx, objects); err != nil {
		return task.Result{}, err
	}
	say(s.env.Log(unitPrepare), "Canary %s with %d instances", display(w), count)
	current.fill(objects)
	late, err := s.record(ctx, current)
	if err != nil {
		return task.Result{}, err
	}
	err = s.applyRelease(ctx, current, objects, late)
	if err == nil {
		err = s.lookout.steady(ctx, []*unstructured.Unstructured{w})
	}
	if err == nil && s.p.Traffic != nil {
		_, err = s.network.routeTraffic(ctx, s.p.Traffic, current)
	}
	out := outputs{"canaryWorkload": w.GetNamespace() + "/" + display(w), "targetInstances": count}
	if current.StableService != "" {
		out["stableService"], out["canaryService"] = current.StableService, current.CanaryService
	}
	if err != nil {
		_ = s.history.mark(ctx, current, releaseFailed) // the step fails either way; the record is found by its stage
		r, _ := s.done(out, s.changed("applied", objects, nil))
		return r, err
	}
	if err := s.history.mark(ctx, current, releaseSucceeded); err != nil {
		return task.Result{}, err
	}
	return s.done(out, s.changed("applied", objects, s.lookout.instances(ctx, managed(objects), nil)))
}

// single is the one managed workload that canary and blue-green need.
func single(objects []*unstructured.Unstructured, strategy string, kinds ...string) (*unstructured.Unstructured, error) {
	workloads := managed(objects)
	if len(workloads) != 1 {
		return nil, fault.New(fault.Invalid, "%d workloads in the manifests; a %s deployment needs exactly one (annotate others with %s: \"true\")", len(workloads), strategy, annotationDirectApply)
	}
	if !slices.Contains(kinds, workloads[0].GetKind()) {
		return nil, fault.New(fault.Invalid, "%s can't be deployed as %s; want one of %v", display(workloads[0]), strategy, kinds)
	}
	return workloads[0], nil
}

// selected is a number of instances: a count, or a percentage of a base,
// rounded up; at least one.
func selected(i *lane.InstanceSelection, base int64) int64 {
	switch {
	case i == nil:
		return 1
	case i.Count != nil:
		return max(int64(*i.Count), 1)
	}
	return max(percentage(base, *i.Percentage), 1)
}

func percentage(base int64, percent int) int64 { return (base*int64(percent) + 99) / 100 }

// turnCanary makes the workload one that stands beside the stable one: its
// selector always has the track, so the two never share pods.
func (s *session) turnCanary(w *unstructured.Unstructured, count int64) {
	w.SetName(withSuffix(w.GetName(), canarySuffix))
	set(w, count, "spec", "replicas")
	putLabel(w, labelTrack, "canary", selectorOf(w)...)
	putLabel(w, labelTrack, "canary", "spec", "template", "metadata", "labels")
	putLabel(w, labelRelease, s.p.Target.ReleaseName, "spec", "template", "metadata", "labels")
}

// baseReplicas is what a percentage is of: the manifest's replicas. Where an
// autoscaler has them, it is what serves now, else the autoscaler's minimum.
func (c *client) baseReplicas(ctx context.Context, objects []*unstructured.Unstructured, w, serving *unstructured.Unstructured) (int64, error) {
	if _, ok := number(w, "spec", "replicas"); ok {
		return replicas(w), nil
	}
	for _, o := range objects {
		if !scales(o, w.GetKind(), w.GetName()) {
			continue
		}
		live, err := c.Get(ctx, serving)
		if err != nil {
			return 0, err
		}
		if live != nil {
			return replicas(live), nil
		}
		if least, ok := number(o, "spec", "minReplicas"); ok {
			return least, nil
		}
	}
	return 1, nil
}

// scales says whether an object is the autoscaler of a workload.
func scales(o *unstructured.Unstructured, kind, name string) bool {
	return o.GetKind() == "HorizontalPodAutoscaler" && text(o, "spec", "scaleTargetRef", "name") == name && text(o, "spec", "scaleTargetRef", "kind") == kind
}

// protects says whether an object is the disruption budget of a workload's pods.
func protects(o, w *unstructured.Unstructured) bool {
	if o.GetKind() != "PodDisruptionBudget" {
		return false
	}
	wanted, _, _ := unstructured.NestedMap(o.Object, "spec", "selector", "matchLabels")
	if len(wanted) == 0 {
		return false
	}
	labels, _, _ := unstructured.NestedMap(w.Object, "spec", "template", "metadata", "labels")
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// renameFollowers renames the autoscalers and disruption budgets of a renamed
// workload, points them at it and gives their new names.
func renameFollowers(objects []*unstructured.Unstructured, w *unstructured.Unstructured, original, suffix string) []string {
	var made []string
	for _, o := range objects {
		switch {
		case scales(o, w.GetKind(), original):
			set(o, w.GetName(), "spec", "scaleTargetRef", "name")
		case protects(o, w):
			selector, _, _ := unstructured.NestedMap(w.Object, selectorOf(w)...)
			set(o, selector, "spec", "selector", "matchLabels")
		default:
			continue
		}
		o.SetName(withSuffix(o.GetName(), suffix))
		made = append(made, display(o))
	}
	return made
}

// canaryDelete is K8sCanaryDelete (semantics/kubernetes §13.2): it deletes
// what the stage's canary step made, and never what serves.
func (s *session) canaryDelete(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitDelete)
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made := s.history.ofStage(all, modeCanary)
	if made == nil {
		say(log, "This stage has no canary, so there is nothing to delete")
		return s.done(nil)
	}
	if err := s.network.toStable(ctx, made.CanaryService, made.StableService); err != nil {
		return task.Result{}, err
	}
	objects := slices.DeleteFunc(made.objects(), func(o *unstructured.Unstructured) bool {
		return !slices.Contains(made.Made, display(o))
	})
	slices.Reverse(objects)
	deleted, err := s.applier.deleteAll(ctx, objects, log)
	if err != nil {
		return task.Result{}, err
	}
	if err := s.applier.allGone(ctx, deleted); err != nil {
		return task.Result{}, err
	}
	made.Deleted = true // so the record needn't be kept for this step
	if err := s.history.mark(ctx, made, made.Status); err != nil {
		say(log, "release %d couldn't be marked as deleted: %s", made.Number, err)
	}
	return s.done(nil, s.changed("deleted", deleted, nil))
}
