package kubernetes

import (
	"context"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptReleases is how many good releases are kept besides the newest.
const keptReleases = 2

// underWay is for how long a release without an end may belong to an
// execution that still runs.
const underWay = 24 * time.Hour

// cleanUp deletes the records of old releases, and the ConfigMaps and Secrets
// that only they use (kubernetes spec §9). What fails is only said.
func (s *session) cleanUp(ctx context.Context, all []*release, current *release, log io.Writer) {
	used := map[string]bool{}
	var old []*release
	good := 0
	for _, r := range append([]*release{current}, all...) {
		wanted := r.Number >= current.Number || r.Execution == current.Execution ||
			r.Status == releaseInProgress && time.Since(r.CreatedAt) < underWay
		if !wanted && r.Status == releaseSucceeded && line(r.Mode) == line(current.Mode) && good < keptReleases {
			good++
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
		if err := s.forget(ctx, r, used); err != nil {
			say(log, "Release %d couldn't be cleaned up: %s", r.Number, err)
		}
	}
}

// line is what releases of a mode succeed one another in: a progressive canary
// takes the place of a rolling deployment.
func line(mode string) string {
	if mode == modeProgressive {
		return modeRolling
	}
	return mode
}

func (s *session) forget(ctx context.Context, r *release, used map[string]bool) error {
	for _, o := range r.objects() {
		name := o.GetKind() + "/" + o.GetName()
		if !slices.Contains(r.Versioned, name) || used[name] {
			continue
		}
		if _, err := s.delete(ctx, o); err != nil {
			return err
		}
	}
	err := s.client.dynamic.Resource(secrets()).Namespace(s.p.Target.Namespace).Delete(ctx, s.secretName(r.Number), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return classify(err)
}
