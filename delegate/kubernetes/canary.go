package kubernetes

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// canarySuffix marks what a canary step makes beside what serves.
const canarySuffix = "-canary"

// canary is K8sCanaryDeploy of the standard type (kubernetes spec §13.1).
func (s *session) canary(ctx context.Context) (task.Result, error) {
	all, err := s.history(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.begin(all, modeCanary)
	objects, err := s.manifests(ctx)
	if err != nil {
		return task.Result{}, err
	}
	w, err := single(objects, "canary", "Deployment", "StatefulSet")
	if err != nil {
		return task.Result{}, err
	}
	count := selected(s.p.Instances, replicas(w))
	current.Versioned = rename(objects, canarySuffix)
	s.turnCanary(w, count)
	renameFollowers(objects, w, canarySuffix)
	if err := s.dryRun(ctx, objects); err != nil {
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
		err = s.steady(ctx, []*unstructured.Unstructured{w})
	}
	out := outputs{"canaryWorkload": w.GetNamespace() + "/" + display(w), "targetInstances": count}
	if err != nil {
		_ = s.mark(ctx, current, releaseFailed) // the step fails either way; the record is found by its stage
		r, _ := s.done(out, s.changed("applied", objects, nil))
		return r, err
	}
	if err := s.mark(ctx, current, releaseSucceeded); err != nil {
		return task.Result{}, err
	}
	return s.done(out, s.changed("applied", objects, s.instances(ctx, nil)))
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
func selected(i *task.InstanceSelection, base int64) int64 {
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
	putLabel(w, labelTrack, "canary", "spec", "selector", "matchLabels")
	putLabel(w, labelTrack, "canary", "spec", "template", "metadata", "labels")
	putLabel(w, labelRelease, s.p.Target.ReleaseName, "spec", "template", "metadata", "labels")
}

// renameFollowers renames the autoscalers and disruption budgets of a renamed
// workload and points them at it.
func renameFollowers(objects []*unstructured.Unstructured, w *unstructured.Unstructured, suffix string) {
	original := w.GetName()[:len(w.GetName())-len(suffix)]
	for _, o := range objects {
		switch o.GetKind() {
		case "HorizontalPodAutoscaler":
			if text(o, "spec", "scaleTargetRef", "name") == original && text(o, "spec", "scaleTargetRef", "kind") == w.GetKind() {
				o.SetName(withSuffix(o.GetName(), suffix))
				set(o, w.GetName(), "spec", "scaleTargetRef", "name")
			}
		case "PodDisruptionBudget":
			selector, _, _ := unstructured.NestedMap(w.Object, "spec", "selector", "matchLabels")
			o.SetName(withSuffix(o.GetName(), suffix))
			set(o, selector, "spec", "selector", "matchLabels")
		}
	}
}

// canaryDelete is K8sCanaryDelete (kubernetes spec §13.2): it deletes what the
// stage's canary step made, and never what serves.
func (s *session) canaryDelete(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitDelete)
	all, err := s.history(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made := s.ofStage(all, modeCanary)
	if made == nil {
		say(log, "This stage has no canary, so there is nothing to delete")
		return s.done(nil)
	}
	var deleted []*unstructured.Unstructured
	for _, o := range slices.Backward(made.objects()) {
		if !isCanary(o) {
			continue
		}
		gone, err := s.delete(ctx, o)
		if err != nil {
			return task.Result{}, err
		}
		if gone {
			say(log, "%s deleted", display(o))
			deleted = append(deleted, o)
		}
	}
	if err := s.allGone(ctx, deleted); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("deleted", deleted, nil))
}

// isCanary says whether a canary step made an object for itself.
func isCanary(o *unstructured.Unstructured) bool {
	name := o.GetName()
	return len(name) > len(canarySuffix) && name[len(name)-len(canarySuffix):] == canarySuffix
}
