package kubernetes

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// rolling is K8sRollingDeploy (semantics/kubernetes §11).
func (s *session) rolling(ctx context.Context) (task.Result, error) {
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	objects, current, err := s.rendered(ctx, all)
	if err != nil {
		return task.Result{}, err
	}
	if err := s.applier.dryRun(ctx, objects); err != nil {
		return task.Result{}, err
	}
	if err := s.pruner.announcePruning(ctx, all, current, objects); err != nil {
		return task.Result{}, err
	}
	if err := s.applier.keepBefore(ctx, all, current, objects); err != nil {
		return task.Result{}, err
	}
	say(s.env.Log(unitPrepare), "Release %s, number %d", s.p.Target.ReleaseName, s.renderer.number)
	current.fill(objects)
	late, err := s.record(ctx, current)
	if err != nil {
		return task.Result{}, err
	}
	return s.rollOut(ctx, all, current, objects, late)
}

// label marks the pods of managed workloads with their release, and with
// their track where the stage has a canary (semantics/kubernetes §11.1).
func (s *session) label(ctx context.Context, objects []*unstructured.Unstructured) error {
	for _, w := range managed(objects) {
		putLabel(w, labelRelease, s.p.Target.ReleaseName, "spec", "template", "metadata", "labels")
		live, err := s.client.Get(ctx, w)
		if err != nil {
			return err
		}
		tracked := live != nil && text(live, selectorOf(live, labelTrack)...) == "stable"
		if tracked { // a selector can't be changed
			putLabel(w, labelTrack, "stable", selectorOf(w)...)
		}
		if tracked || s.p.CanaryInStage {
			putLabel(w, labelTrack, "stable", "spec", "template", "metadata", "labels")
		}
	}
	return nil
}

// record saves a release before anything is applied. Where the manifests
// bring the namespace, that can only be done afterwards: late is true.
func (s *session) record(ctx context.Context, r *release) (late bool, err error) {
	err = s.history.save(ctx, r)
	if fault.Is(err, fault.NotFound) {
		for _, o := range r.Objects {
			if o["kind"] == "Namespace" && (&unstructured.Unstructured{Object: o}).GetName() == s.p.Target.Namespace {
				return true, nil
			}
		}
		return false, fault.New(fault.NotFound, "the namespace %s doesn't exist", s.p.Target.Namespace)
	}
	return false, err
}

// rollOut applies a release and waits for it; whatever goes wrong, the record
// says so, because the rollback needs it.
func (s *session) rollOut(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured, late bool) (task.Result, error) {
	before := names(s.lookout.instances(ctx, managed(objects), nil))
	err := s.applyRelease(ctx, current, objects, late)
	if err == nil {
		err = s.lookout.steady(ctx, awaited(objects))
	}
	if err != nil {
		if markErr := s.history.mark(ctx, current, releaseFailed); markErr != nil {
			say(s.env.LogError(unitWrapUp), "release %d couldn't be marked as failed: %s", current.Number, markErr)
		}
		r, _ := s.done(outputs{}, s.changed("applied", objects, nil))
		return r, err
	}
	previous := lastGood(all, current, modeRolling)
	if s.p.Pruning {
		current.Pruned = s.pruner.prune(ctx, previous, objects)
	}
	if err := s.history.mark(ctx, current, releaseSucceeded); err != nil {
		return task.Result{}, err
	}
	wrap := s.env.Log(unitWrapUp)
	s.history.cleanUp(ctx, all, current, wrap)
	now := s.lookout.instances(ctx, managed(objects), before)
	for _, i := range now {
		say(wrap, "pod %s %v", i.Name, i.Images)
	}
	return s.done(outputs{"prunedResourceIds": current.Pruned}, s.changed("applied", objects, now))
}

func (s *session) applyRelease(ctx context.Context, r *release, objects []*unstructured.Unstructured, late bool) error {
	err := s.applier.apply(ctx, objects, s.env.Log(unitApply))
	if err == nil && late {
		return s.history.save(ctx, r)
	}
	return err
}

// rollingRollback is K8sRollingRollback (semantics/kubernetes §12): the
// workloads of this stage's release get back the manifests of the last good
// one.
func (s *session) rollingRollback(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitRollback)
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.history.ofStage(all, modeRolling)
	if current == nil {
		say(log, "This stage deployed nothing, so there is nothing to roll back")
		return s.done(nil)
	}
	previous := lastGood(all, current, modeRolling)
	var objects []*unstructured.Unstructured
	switch {
	case previous != nil:
		say(log, "Rolling release %d back to release %d", current.Number, previous.Number)
		objects = restored(current, previous)
	case len(current.Before) > 0:
		say(log, "No earlier release has succeeded: the workloads go back to what they were before the first one")
		objects = asObjects(current.Before)
	default:
		say(log, "No previous eligible release found. Can't rollback.")
		return s.done(nil, s.changed("kept", nil, nil))
	}
	if current.Status != releaseFailed { // however the rollback ends, nobody goes back to it
		if err := s.history.mark(ctx, current, releaseFailed); err != nil {
			return task.Result{}, err
		}
	}
	if err := s.applier.apply(ctx, objects, log); err != nil {
		return task.Result{}, err
	}
	if previous != nil {
		if err := s.pruner.unprune(ctx, current, previous); err != nil {
			return task.Result{}, err
		}
	}
	if err := s.client.unstick(ctx, managed(objects), log); err != nil {
		return task.Result{}, err
	}
	if err := s.lookout.steady(ctx, awaited(objects)); err != nil {
		return task.Result{}, err
	}
	if previous != nil {
		s.renderer.number = previous.Number
	}
	return s.done(nil, s.changed("rolled back", objects, s.lookout.instances(ctx, managed(objects), nil)))
}

// restored is what a rollback applies: everything of a declarative release,
// else the workloads that both releases have. Their pod templates name the
// ConfigMaps and Secrets of the earlier release, which are still there.
func restored(current, previous *release) []*unstructured.Unstructured {
	all := previous.objects()
	if previous.Declarative {
		return all
	}
	now := map[string]bool{}
	for _, w := range awaited(current.objects()) {
		now[w.GetNamespace()+"/"+display(w)] = true
	}
	return slices.DeleteFunc(awaited(all), func(w *unstructured.Unstructured) bool { return !now[w.GetNamespace()+"/"+display(w)] })
}

// unprune brings back what the failed release had pruned and deletes what it
// had added, if both releases were made with pruning.
func (p *pruner) unprune(ctx context.Context, current, previous *release) error {
	if !p.p.Pruning || !current.Pruning || !previous.Pruning {
		return nil
	}
	log := p.env.Log(unitRollback)
	if err := p.applier.apply(ctx, sorted(missing(previous, current.objects())), log); err != nil {
		return err
	}
	for _, o := range slices.Backward(p.prunable(ctx, missing(current, previous.objects()), log)) {
		if _, err := p.applier.delete(ctx, o); err != nil {
			return err
		}
		say(log, "%s deleted", display(o))
	}
	return nil
}

// skipped says whether a file asks to be left out of deployments.
func skipped(f manifest.File) bool {
	first, _, _ := strings.Cut(f.Text, "\n")
	return strings.TrimSpace(first) == skipDirective
}
