package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/task"
)

// progressive is a phase of a progressive canary (semantics/kubernetes §13.4):
// the new Deployment takes over a share of the pods of the one that serves.
// The first phase makes the release, the others of the stage go on with it.
func (s *session) progressive(ctx context.Context) (task.Result, error) {
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	current := s.history.ofStage(all, modeProgressive)
	switch {
	case current == nil:
		current, err = s.firstPhase(ctx, all)
	case current.Status != releaseSucceeded:
		err = s.again(ctx, current)
	}
	if err != nil {
		return task.Result{}, err
	}
	s.renderer.number = current.Number
	w := managed(current.objects())[0]
	out := outputs{"canaryWorkload": w.GetNamespace() + "/" + display(w), "targetInstances": portion(current.Budget, int64(s.p.TargetPercentage))}
	err = s.phase(ctx, current, w)
	if err == nil && s.p.TargetPercentage == whole {
		err = s.succeed(ctx, all, current)
	}
	if err != nil {
		if markErr := s.history.mark(ctx, current, releaseFailed); markErr != nil {
			say(s.env.LogError(unitWrapUp), "release %d couldn't be marked as failed: %s", current.Number, markErr)
		}
		r, _ := s.done(out, s.changed("applied", current.objects(), nil))
		return r, err
	}
	return s.done(out, s.changed("applied", current.objects(), s.lookout.instances(ctx, []*unstructured.Unstructured{w}, nil)))
}

// firstPhase renders the manifests, makes the new Deployment without pods
// beside the one that serves, and records both.
func (s *session) firstPhase(ctx context.Context, all []*release) (*release, error) {
	current := s.begin(all, modeProgressive)
	objects, err := s.renderer.manifests(ctx)
	if err != nil {
		return nil, err
	}
	w, err := single(objects, "progressive canary", "Deployment")
	if err != nil {
		return nil, err
	}
	if current.Succeeds, err = s.client.predecessor(ctx, all, w); err != nil {
		return nil, err
	}
	current.Hash = hashOf(objects)
	if current.Budget, err = s.client.baseReplicas(ctx, objects, w, w); err != nil {
		return nil, err
	}
	if current.Succeeds != nil {
		current.Budget = replicas(current.Succeeds.workload())
	}
	suffix, original := fmt.Sprintf("-v%d", s.renderer.number), w.GetName()
	current.Versioned = rename(objects, suffix)
	s.turnVersion(w, suffix)
	current.Made = slices.Concat(renameFollowers(objects, w, original, suffix), []string{display(w)}, current.Versioned)
	if err := s.applier.dryRun(ctx, objects); err != nil {
		return nil, err
	}
	say(s.env.Log(unitPrepare), "Release %s, number %d: %s takes over %d instances", s.p.Target.ReleaseName, s.renderer.number, display(w), current.Budget)
	current.fill(objects)
	late, err := s.record(ctx, current)
	if err != nil {
		return nil, err
	}
	if err := s.applyRelease(ctx, current, unscaled(objects, w), late); err != nil {
		_ = s.history.mark(ctx, current, releaseFailed) // the step fails either way
		return nil, err
	}
	return current, nil
}

// unscaled are the objects without the autoscalers of the new workload, which
// come when it has its pods.
func unscaled(objects []*unstructured.Unstructured, w *unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return scales(o, w.GetKind(), w.GetName()) })
}

// again goes on with a release of an earlier phase, or of an earlier try of
// this one, which may not have come far: a try that made the workload may have
// ended before what comes after it. The workload itself has the pods that it
// has got by now.
func (s *session) again(ctx context.Context, current *release) error {
	s.renderer.number = current.Number
	objects := current.objects()
	w := managed(objects)[0]
	live, err := s.client.Get(ctx, w)
	if err != nil {
		return err
	}
	if live == nil || current.Step == s.work.Step || current.Status == releaseFailed {
		objects = slices.DeleteFunc(unscaled(objects, w), func(o *unstructured.Unstructured) bool { return o == w && live != nil })
		if err := s.applier.apply(ctx, objects, s.env.Log(unitApply)); err != nil {
			return err
		}
	}
	return s.history.mark(ctx, current, releaseInProgress)
}

// turnVersion makes the workload one of its own without pods: its selector has
// the version, so it shares none with the one that serves.
func (s *session) turnVersion(w *unstructured.Unstructured, suffix string) {
	track := suffix[1:]
	w.SetName(withSuffix(w.GetName(), suffix))
	set(w, int64(0), "spec", "replicas")
	putLabel(w, labelTrack, track, "spec", "selector", "matchLabels")
	putLabel(w, labelTrack, track, "spec", "template", "metadata", "labels")
	putLabel(w, labelRelease, s.p.Target.ReleaseName, "spec", "template", "metadata", "labels")
}

// phase moves pods until the new workload has its share. Meanwhile no
// autoscaler may keep it from that.
func (s *session) phase(ctx context.Context, current *release, w *unstructured.Unstructured) error {
	log := s.env.Log(unitScale)
	share := int64(s.p.TargetPercentage)
	var scalers []*unstructured.Unstructured
	for _, o := range current.objects() {
		if scales(o, w.GetKind(), w.GetName()) {
			scalers = append(scalers, o)
		}
	}
	m := mover{s: s, to: w, budget: current.Budget, log: log}
	if current.Succeeds != nil {
		m.from = current.Succeeds.workload()
		if err := s.bound(ctx, current.Succeeds.scalers(), whole-share, log); err != nil {
			return err
		}
	}
	if _, err := s.applier.deleteAll(ctx, scalers, log); err != nil {
		return err
	}
	if err := m.move(ctx, portion(current.Budget, share)); err != nil {
		return err
	}
	return s.bound(ctx, scalers, share, log)
}

// bound gives autoscalers a percentage of the bounds that they have in whole,
// rounded up. One of nothing is deleted: an autoscaler keeps one pod at least.
func (s *session) bound(ctx context.Context, scalers []*unstructured.Unstructured, share int64, log io.Writer) error {
	for _, o := range scalers {
		if share == 0 {
			if _, err := s.applier.delete(ctx, o); err != nil {
				return err
			}
			say(log, "%s deleted", display(o))
			continue
		}
		least, ok := number(o, "spec", "minReplicas")
		if !ok {
			least = 1
		}
		most, _ := number(o, "spec", "maxReplicas")
		set(o, portion(least, share), "spec", "minReplicas")
		set(o, portion(most, share), "spec", "maxReplicas")
		if _, err := s.applier.applyOne(ctx, o, false, log); err != nil {
			return err
		}
		say(log, "%s keeps %d to %d pods", display(o), portion(least, share), portion(most, share))
	}
	return nil
}

// portion is a percentage of a number, rounded up.
func portion(n, percent int64) int64 { return (n*percent + whole - 1) / whole }

// succeed ends the last phase: what served is deleted, and the release is one
// to go back to.
func (s *session) succeed(ctx context.Context, all []*release, current *release) error {
	wrap := s.env.Log(unitWrapUp)
	if was := current.Succeeds; was != nil {
		if _, err := s.applier.deleteAll(ctx, append([]*unstructured.Unstructured{was.workload()}, asObjects(was.Budgets)...), wrap); err != nil {
			return err
		}
	}
	if err := s.history.mark(ctx, current, releaseSucceeded); err != nil {
		return err
	}
	s.history.cleanUp(ctx, all, current, wrap)
	return nil
}
