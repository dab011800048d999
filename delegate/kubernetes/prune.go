package kubernetes

import (
	"context"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/executor"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// pruner deletes what an earlier release has made and this one doesn't name.
type pruner struct {
	client  *client
	p       lane.Spec
	env     executor.Env
	applier *applier
}

// prune deletes what the previous release had and this one hasn't, if that
// release was made with pruning, too (semantics/kubernetes §17).
func (p *pruner) prune(ctx context.Context, previous *release, objects []*unstructured.Unstructured) []string {
	if previous == nil || !previous.Pruning {
		say(p.env.Log(unitPrune), "No previous successful deployment found, so no pruning required")
		return nil
	}
	return p.pruneAll(ctx, missing(previous, objects))
}

// pruneColors deletes what neither colour has any more: objects of the
// releases before the previous one, which stands by
// (semantics/kubernetes §17). What serves stays, though it be older: a stage
// may have failed before its swap.
func (p *pruner) pruneColors(ctx context.Context, all []*release, current *release, objects []*unstructured.Unstructured) []string {
	previous := lastGood(all, current, modeBlueGreen)
	if previous == nil {
		say(p.env.Log(unitPrune), "No previous successful deployment found, so no pruning required")
		return nil
	}
	standing := append(previous.objects(), objects...)
	if serving := lastOfColor(all, current.PrimaryColor); serving != nil {
		standing = append(standing, serving.objects()...)
	}
	var gone []*unstructured.Unstructured
	for _, r := range all {
		if r.Number < previous.Number && r.Status == releaseSucceeded && r.Mode == modeBlueGreen && r.Pruning {
			more := missing(r, standing)
			gone, standing = append(gone, more...), append(standing, more...)
		}
	}
	return p.pruneAll(ctx, sorted(gone))
}

// lastOfColor is the newest release of a colour, which is what that colour
// runs; nil for none.
func lastOfColor(all []*release, color string) *release {
	i := slices.IndexFunc(all, func(r *release) bool { return r.Mode == modeBlueGreen && r.Color == color && !r.Skipped })
	if i < 0 {
		return nil
	}
	return all[i]
}

// pruneAll deletes objects in the reverse of the order of apply, but for those
// that are spared. What fails is a warning.
func (p *pruner) pruneAll(ctx context.Context, gone []*unstructured.Unstructured) []string {
	log := p.env.Log(unitPrune)
	var pruned []string
	for _, o := range slices.Backward(p.prunable(ctx, gone, log)) {
		deleted, err := p.applier.delete(ctx, o)
		if err != nil {
			say(log, "warning: %s wasn't pruned: %s", display(o), err)
		}
		if deleted {
			say(log, "%s pruned", display(o))
			pruned = append(pruned, display(o))
		}
	}
	return pruned
}

// prunable are the objects that may be deleted because a release doesn't have
// them: no Namespace, with which all that is in it would go, nothing that asks
// to be spared, and nothing that another release has.
func (p *pruner) prunable(ctx context.Context, gone []*unstructured.Unstructured, log io.Writer) []*unstructured.Unstructured {
	gone = slices.DeleteFunc(slices.Clone(gone), func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "Namespace" || annotated(o, annotationSkipPruning)
	})
	if len(gone) == 0 {
		return nil
	}
	shared := p.shared(ctx, log)
	return slices.DeleteFunc(gone, func(o *unstructured.Unstructured) bool {
		who := shared[identity(o)]
		if who != "" {
			say(log, "warning: %s wasn't pruned: release %s has it, too", display(o), who)
		}
		return who != ""
	})
}

// shared gives the objects of other releases in the namespace, with the name
// of the release. What can't be read is no reason to keep an object.
func (p *pruner) shared(ctx context.Context, log io.Writer) map[string]string {
	out := map[string]string{}
	opts := metav1.ListOptions{LabelSelector: labels.Set{"owner": manager}.String()}
	_, err := applying.List(ctx, p.client.Dynamic.Resource(secrets()).Namespace(p.p.Target.Namespace), opts, func(kept *unstructured.Unstructured) {
		name := kept.GetLabels()[labelRelease]
		r, err := unpack(kept)
		if err != nil || name == p.p.Target.ReleaseName || r.Status != releaseSucceeded {
			return
		}
		for _, o := range r.objects() {
			out[identity(o)] = name
		}
	})
	if err != nil {
		say(log, "warning: whether other releases have these objects isn't known: %s", applying.Classify(err))
		return map[string]string{}
	}
	return out
}

// identity tells objects apart in the whole cluster.
func identity(o *unstructured.Unstructured) string {
	return o.GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
}

// missing are a release's objects that aren't among others. Versioned ones
// are left out: they go when their release does.
func missing(r *release, objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	have := map[string]bool{}
	for _, o := range objects {
		have[identity(o)] = true
	}
	return slices.DeleteFunc(r.objects(), func(o *unstructured.Unstructured) bool {
		return have[identity(o)] || slices.Contains(r.Versioned, display(o))
	})
}
