package kubernetes

import (
	"context"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/task"
)

// progressiveRollback is K8sProgressiveCanaryRollback
// (semantics/kubernetes §13.4): the pods move back, and what the canary made
// is deleted.
func (s *session) progressiveRollback(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitRollback)
	all, err := s.history.all(ctx)
	if err != nil {
		return task.Result{}, err
	}
	made := s.history.ofStage(all, modeProgressive)
	if made == nil {
		say(log, "This stage deployed nothing, so there is nothing to roll back")
		return s.done(nil)
	}
	if made.Succeeds == nil {
		say(log, "There was nothing before this deployment, so there is nothing to go back to")
		return s.done(nil, s.changed("kept", nil, nil))
	}
	if made.Status != releaseFailed { // however the rollback ends, nobody goes back to it
		if err := s.history.mark(ctx, made, releaseFailed); err != nil {
			return task.Result{}, err
		}
	}
	old, err := s.revive(ctx, made.Succeeds, log)
	if err != nil {
		return task.Result{}, err
	}
	if err := s.giveBack(ctx, made, old, log); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("rolled back", []*unstructured.Unstructured{old}, s.lookout.instances(ctx, []*unstructured.Unstructured{old}, nil)))
}

// giveBack moves the pods of a canary to the Deployment that served, and
// deletes what the canary made. Its autoscalers go first, because they would
// keep pods that are to go.
func (s *session) giveBack(ctx context.Context, made *release, old *unstructured.Unstructured, log io.Writer) error {
	var scalers, others []*unstructured.Unstructured
	for _, o := range slices.Backward(made.objects()) {
		switch {
		case !slices.Contains(made.Made, display(o)):
		case o.GetKind() == "HorizontalPodAutoscaler":
			scalers = append(scalers, o)
		default:
			others = append(others, o)
		}
	}
	if _, err := s.applier.deleteAll(ctx, scalers, log); err != nil {
		return err
	}
	if err := s.bound(ctx, made.Succeeds.scalers(), whole, log); err != nil {
		return err
	}
	m := mover{s: s, from: managed(made.objects())[0], to: old, budget: made.Budget, log: log}
	has, err := m.pods(ctx, old)
	if err != nil {
		return err
	}
	m.budget = max(m.budget, has) // an autoscaler may have been quicker
	if err := m.move(ctx, m.budget); err != nil {
		return err
	}
	_, err = s.applier.deleteAll(ctx, others, log)
	return err
}

// revive makes what served anew if it has been deleted, without pods.
func (s *session) revive(ctx context.Context, was *succession, log io.Writer) (*unstructured.Unstructured, error) {
	old := was.workload()
	live, err := s.client.Get(ctx, old)
	if err != nil || live != nil && live.GetDeletionTimestamp() == nil {
		return old, err
	}
	if live != nil {
		if err := s.client.Gone(ctx, old); err != nil {
			return nil, err
		}
	}
	empty := was.workload()
	set(empty, int64(0), "spec", "replicas")
	for _, o := range append(asObjects(was.Budgets), empty) {
		if _, err := s.applier.applyOne(ctx, o, false, log); err != nil {
			return nil, err
		}
		say(log, "%s is made anew", display(o))
	}
	return old, nil
}
