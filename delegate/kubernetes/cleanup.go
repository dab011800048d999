package kubernetes

import (
	"context"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-cd/slipway/delegate/applying"
)

// keptReleases is how many good releases of a line are kept besides the newest.
const keptReleases = 2

// underWay is for how long a release without an end, or a canary, may belong
// to an execution that still runs.
const underWay = 24 * time.Hour

// cleanUp deletes the records of old releases, and the ConfigMaps and Secrets
// that only they use (semantics/kubernetes §9). Those of each line are kept:
// what a rolling deployment made serves until the first colour does, and is
// what is gone back to from it. What fails is only said.
func (h *history) cleanUp(ctx context.Context, all []*release, current *release, log io.Writer) {
	used := map[string]bool{}
	var old []*release
	good := map[string]int{}
	for _, r := range append([]*release{current}, all...) {
		wanted := r.Number >= current.Number || r.Execution == current.Execution || r.mayRun()
		if !wanted && r.Status == releaseSucceeded && !r.Deleted && good[line(r.Mode)] < keptReleases {
			good[line(r.Mode)]++
			wanted = true
		}
		wanted = wanted || r.Mode == modeBlueGreen && r == lastOfColor(all, r.Color) // it may serve
		if !wanted {
			old = append(old, r)
			continue
		}
		for _, v := range r.Versioned {
			used[v] = true
		}
	}
	for _, r := range old {
		if err := h.forget(ctx, r, used); err != nil {
			say(log, "Release %d couldn't be cleaned up: %s", r.Number, err)
		}
	}
}

// mayRun says whether the execution that made a release may still have to do
// with it: a canary's has to delete it, however it ended.
func (r *release) mayRun() bool {
	open := r.Status == releaseInProgress || r.Mode == modeCanary && !r.Deleted
	return open && time.Since(r.CreatedAt) < underWay
}

// line is what releases of a mode succeed one another in: a progressive canary
// takes the place of a rolling deployment.
func line(mode string) string {
	if mode == modeProgressive {
		return modeRolling
	}
	return mode
}

func (h *history) forget(ctx context.Context, r *release, used map[string]bool) error {
	for _, o := range r.objects() {
		name := o.GetKind() + "/" + o.GetName()
		if !slices.Contains(r.Versioned, name) || used[name] {
			continue
		}
		if _, err := h.applier.delete(ctx, o); err != nil {
			return err
		}
	}
	err := h.client.Dynamic.Resource(secrets()).Namespace(h.p.Target.Namespace).Delete(ctx, h.secretName(r.Number), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return applying.Classify(err)
}
