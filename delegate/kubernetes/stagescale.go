package kubernetes

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
)

// annotationReplicas keeps how many instances a workload had before it was
// scaled down.
const annotationReplicas = "harness.io/replicas-before-scale-down"

// standby is the colour that doesn't serve.
type standby struct {
	release  *release
	workload *unstructured.Unstructured // as it is in the cluster
	// followers are the autoscalers and disruption budgets of the workload.
	followers []*unstructured.Unstructured
}

// standby finds the colour that the stage service points to; nil where there
// is none. The release is the stage's own or, from another stage, the newest.
func (s *session) standby(ctx context.Context, log io.Writer) (*standby, error) {
	all, err := s.history.all(ctx)
	if err != nil {
		return nil, err
	}
	made := s.history.ofStage(all, modeBlueGreen)
	for _, r := range all {
		if made == nil && r.Mode == modeBlueGreen {
			made = r
		}
	}
	if made == nil {
		say(log, "There is no blue-green release of %s", s.p.Target.ReleaseName)
		return nil, nil
	}
	color, err := s.client.serviceColor(ctx, made.ServiceSpace, made.StageService)
	if fault.Is(err, fault.NotFound) {
		say(log, "There is no service %s", made.StageService)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	primary, err := s.client.serviceColor(ctx, made.ServiceSpace, made.PrimaryService)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	if color == primary {
		return nil, fault.New(fault.Conflict, "the services %s and %s both point to %q, so no colour stands by", made.PrimaryService, made.StageService, color).Causing(fault.Unknown)
	}
	return s.client.ofColor(ctx, all, color, log)
}

// ofColor finds what a colour is made of; nil if it isn't there.
func (c *client) ofColor(ctx context.Context, all []*release, color string, log io.Writer) (*standby, error) {
	for _, r := range all {
		if r.Mode != modeBlueGreen || r.Color != color || r.Skipped {
			continue
		}
		objects := r.objects()
		for _, w := range managed(objects) {
			live, err := c.Get(ctx, w)
			if err != nil || live == nil {
				say(log, "%s isn't there", display(w))
				return nil, err
			}
			out := &standby{release: r, workload: live}
			for _, o := range objects {
				if scales(o, w.GetKind(), w.GetName()) || protects(o, w) {
					out.followers = append(out.followers, o)
				}
			}
			return out, nil
		}
	}
	say(log, "No release has the colour %s", color)
	return nil, nil
}

// stageScaleDown is K8sBlueGreenStageScaleDown (semantics/kubernetes §14.4):
// the colour that doesn't serve has no instances any more.
func (s *session) stageScaleDown(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitScale)
	by, err := s.standby(ctx, log)
	if err != nil || by == nil {
		return s.nothing(err)
	}
	deleted, err := s.applier.deleteAll(ctx, by.followers, log) // an autoscaler would scale it up again
	if err != nil {
		return task.Result{}, err
	}
	if err := s.applier.allGone(ctx, deleted); err != nil {
		return task.Result{}, err
	}
	w := by.workload
	if replicas(w) == 0 {
		say(log, "%s has no instances already", display(w))
		return s.done(nil)
	}
	say(log, "Scaling %s from %d to 0", display(w), replicas(w))
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}},"spec":{"replicas":0}}`, annotationReplicas, replicas(w))
	if err := s.kubectl.rescale(ctx, w, patch); err != nil {
		return task.Result{}, err
	}
	all := []*unstructured.Unstructured{w}
	if err := s.lookout.steady(ctx, all); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("scaled", all, s.lookout.instances(ctx, all, nil)))
}

// nothing ends a step that has found nothing to do.
func (s *session) nothing(err error) (task.Result, error) {
	if err != nil {
		return task.Result{}, err
	}
	return s.done(nil)
}

// stageScaleUp is K8sBlueGreenStageScaleUp (semantics/kubernetes §14.5): the
// colour that doesn't serve gets its instances back, its autoscalers and
// budgets too.
func (s *session) stageScaleUp(ctx context.Context) (task.Result, error) {
	log := s.env.Log(unitScale)
	by, err := s.standby(ctx, log)
	if err != nil || by == nil {
		return s.nothing(err)
	}
	want, err := s.upTo(ctx, by, log)
	if err != nil {
		return task.Result{}, err
	}
	w := by.workload
	say(log, "Scaling %s from %d to %d", display(w), replicas(w), want)
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}},"spec":{"replicas":%d}}`, annotationReplicas, want)
	if err := s.kubectl.rescale(ctx, w, patch); err != nil {
		return task.Result{}, err
	}
	if err := s.applier.apply(ctx, sorted(by.followers), log); err != nil {
		return task.Result{}, err
	}
	all := []*unstructured.Unstructured{w}
	if err := s.lookout.steady(ctx, all); err != nil {
		return task.Result{}, err
	}
	return s.done(nil, s.changed("scaled", all, s.lookout.instances(ctx, all, nil)))
}

// upTo is how many instances the colour gets: those that it had, unless the
// step selects a number. A percentage is of the colour that serves.
func (s *session) upTo(ctx context.Context, by *standby, log io.Writer) (int64, error) {
	if pick := s.p.Instances; pick != nil && pick.Count != nil {
		return int64(*pick.Count), nil
	}
	had, err := strconv.ParseInt(by.workload.GetAnnotations()[annotationReplicas], 10, 64)
	if s.p.Instances == nil && err == nil {
		return had, nil
	}
	if s.p.Instances == nil && replicas(by.workload) > 0 {
		return replicas(by.workload), nil
	}
	all, err := s.history.all(ctx)
	if err != nil {
		return 0, err
	}
	serving, err := s.client.ofColor(ctx, all, otherColor(by.release.Color), log)
	if err != nil {
		return 0, err
	}
	if serving == nil {
		return 0, fault.New(fault.NotFound, "how many instances serve isn't known, because the primary colour has no workload; select a Count")
	}
	if s.p.Instances == nil {
		return replicas(serving.workload), nil
	}
	return percentage(replicas(serving.workload), *s.p.Instances.Percentage), nil
}

// wake ends the scale-down of a colour that has just been deployed anew. If its
// manifest leaves the number of instances open, nothing but this brings back
// those that the workload had.
func (k *kubectl) wake(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	live, err := k.client.Get(ctx, w)
	if err != nil || live == nil {
		return err
	}
	kept, down := live.GetAnnotations()[annotationReplicas]
	if !down {
		return nil
	}
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, annotationReplicas)
	if _, ok := number(w, "spec", "replicas"); !ok && replicas(live) == 0 {
		had, err := strconv.ParseInt(kept, 10, 64)
		if err != nil {
			had = 1 // as of a workload that is made without a number
		}
		say(log, "%s was scaled down and gets %d instances again", display(w), had)
		patch = fmt.Sprintf(`{"metadata":{"annotations":{%q:null}},"spec":{"replicas":%d}}`, annotationReplicas, had)
	}
	return k.rescale(ctx, w, patch)
}

func (k *kubectl) rescale(ctx context.Context, w *unstructured.Unstructured, patch string) error {
	res, err := k.client.Resource(w)
	if err != nil {
		return err
	}
	_, err = res.Patch(ctx, w.GetName(), types.MergePatchType, []byte(patch), k.changeOptions(manager+"-scale"))
	return applying.About(w, applying.Classify(err))
}

// hasInstances refuses to point users to a colour that was scaled down.
func (c *client) hasInstances(ctx context.Context, all []*release, color string, log io.Writer) error {
	to, err := c.ofColor(ctx, all, color, log)
	if err != nil || to == nil {
		return err
	}
	if replicas(to.workload) == 0 && to.workload.GetAnnotations()[annotationReplicas] != "" {
		return fault.New(fault.Conflict, "%s was scaled down and has no instances, so users can't be sent to it; a %s step scales it up", display(to.workload), lane.OpStageScaleUp).Causing(fault.Unknown)
	}
	return nil
}
