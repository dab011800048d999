package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// annotationRestarted makes pods new without another change, as kubectl has it.
const annotationRestarted = "kubectl.kubernetes.io/restartedAt"

// rolloutStep is K8sRollout (semantics/kubernetes §15): one command for each
// of the chosen workloads. What restarts or goes back is waited for.
func (s *session) rolloutStep(ctx context.Context) (task.Result, error) {
	if s.p.Rollout == nil {
		return task.Result{}, fault.New(fault.Invalid, "the command of the roll-out is missing")
	}
	command := s.p.Rollout.Command
	if err := lane.CheckRollout(command, s.applier.flags); err != nil {
		return task.Result{}, err
	}
	targets, err := s.toRoll(ctx)
	if err != nil {
		return task.Result{}, err
	}
	log := s.env.Log(unitRollout)
	if len(targets) == 0 {
		say(log, "no resources found")
	}
	for i, w := range targets {
		live, err := s.client.Get(ctx, w)
		if err != nil {
			return task.Result{}, err
		}
		if live == nil {
			return task.Result{}, fault.New(fault.NotFound, "there is no %s in %s", display(w), w.GetNamespace())
		}
		if err := s.kubectl.roll(ctx, live, log); err != nil {
			return task.Result{}, err
		}
		targets[i] = live
	}
	if s.applier.flags.DryRun {
		say(log, "Dry run: nothing was changed")
		return s.done(nil)
	}
	if err := s.rolled(ctx, targets); err != nil {
		return task.Result{}, err
	}
	if command == lane.RolloutHistory || command == lane.RolloutStatus {
		return s.done(nil)
	}
	return s.done(nil, s.changed(command, targets, s.lookout.instances(ctx, targets, nil)))
}

// toRoll are the workloads that are chosen: by name, those in the manifests,
// or those of the newest release.
func (s *session) toRoll(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if s.p.Rollout.Resources.Type != "ReleaseName" {
		objects, err := s.picked(ctx, s.p.Rollout.Resources)
		if err == nil && s.p.Rollout.Resources.Type == "ManifestPath" {
			objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !rolls(o) })
		}
		return objects, err
	}
	all, err := s.history.all(ctx)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(r *release) bool { return r.Mode != modeCanary && !r.Skipped }) // a canary may be gone
	if i < 0 {
		return nil, nil
	}
	return slices.DeleteFunc(managed(all[i].objects()), func(o *unstructured.Unstructured) bool { return !rolls(o) }), nil
}

// rolls says whether a workload is of the kinds that the commands are for.
func rolls(w *unstructured.Unstructured) bool {
	return isWorkload(w.GetKind()) && w.GetKind() != kindConfig
}

// roll does the command to one workload.
func (k *kubectl) roll(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	kind, command := w.GetKind(), k.p.Rollout.Command
	if !rolls(w) {
		return fault.New(fault.Invalid, "%s doesn't roll out; want a Deployment, a StatefulSet or a DaemonSet", display(w))
	}
	paused, _, _ := unstructured.NestedBool(w.Object, "spec", "paused")
	switch command {
	case lane.RolloutHistory:
		return k.showHistory(ctx, w, log)
	case lane.RolloutStatus:
		_, progress, err := rollout(w)
		say(log, "%s: %s", display(w), progress)
		return err
	case lane.RolloutUndo:
		if paused {
			return fault.New(fault.Conflict, "%s is paused, so it can't go back; resume it first", display(w)).Causing(fault.Unknown)
		}
		return k.undo(ctx, w, k.applier.flags.Revision, log)
	case lane.RolloutRestart:
		if paused {
			return fault.New(fault.Conflict, "%s is paused, so it can't restart; resume it first", display(w)).Causing(fault.Unknown)
		}
		patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{%q:%q}}}}}`, annotationRestarted, time.Now().UTC().Format(time.RFC3339Nano))
		return k.patchWorkload(ctx, w, patch, "restarted", log)
	}
	if kind != "Deployment" {
		return fault.New(fault.Invalid, "%s can't %s; only a Deployment can", display(w), command)
	}
	want := command == lane.RolloutPause
	if want == paused {
		say(log, "%s has that state already", display(w))
		return nil
	}
	return k.patchWorkload(ctx, w, fmt.Sprintf(`{"spec":{"paused":%t}}`, want), command+"d", log)
}

// patchWorkload changes a live workload in place.
func (k *kubectl) patchWorkload(ctx context.Context, w *unstructured.Unstructured, patch, what string, log io.Writer) error {
	res, err := k.client.Resource(w)
	if err != nil {
		return err
	}
	changed, err := res.Patch(ctx, w.GetName(), types.MergePatchType, []byte(patch), k.changeOptions(manager+"-rollout"))
	if err != nil {
		return applying.About(w, applying.Classify(err))
	}
	k.lookout.past.note(changed)
	say(log, "%s %s", display(w), what)
	return nil
}

// changeOptions are those of a change that isn't an apply.
func (k *kubectl) changeOptions(owner string) metav1.PatchOptions {
	opts := metav1.PatchOptions{FieldManager: owner}
	if k.applier.flags.FieldManager != "" {
		opts.FieldManager = k.applier.flags.FieldManager
	}
	if k.applier.flags.DryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return opts
}

// rolled waits where the command is to be waited for.
func (s *session) rolled(ctx context.Context, workloads []*unstructured.Unstructured) error {
	switch s.p.Rollout.Command {
	case lane.RolloutHistory, lane.RolloutPause, lane.RolloutResume:
		return nil
	case lane.RolloutStatus:
		if s.applier.flags.NoWait {
			return nil
		}
	}
	if limit := s.applier.flags.WaitLimit; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fault.New(fault.Conflict, "%w", errWaitLimit).Causing(fault.Unknown))
		defer cancel()
	}
	return s.lookout.steady(ctx, workloads)
}
