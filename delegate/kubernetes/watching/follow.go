package watching

import (
	"context"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/slipway-cd/slipway/delegate/applying"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// follow keeps what is known of some pods fresh until ctx ends:
// it lists them, then watches, and lists again when the watch has ended.
func (r *release) follow(ctx context.Context, of lane.Pods, stop context.CancelCauseFunc) {
	wait := firstPause
	for ctx.Err() == nil {
		err := r.once(ctx, of)
		if err == nil {
			wait = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}
		err = applying.Classify(err)
		r.put(of, func(p *pods) { p.trouble = err })
		if refused(err) {
			stop(err)
			return
		}
		if !pause(ctx, wait/2+rand.N(wait/2)) { //nolint:gosec // jitter is no secret
			return
		}
		wait = min(2*wait, longestPause)
	}
}

// once lists the pods and watches them until the watch ends, at the latest
// after relist. An error is that of a request that was refused or didn't get
// through; that a watch ends is none.
func (r *release) once(ctx context.Context, of lane.Pods) error {
	ctx, cancel := context.WithTimeout(ctx, relist)
	defer cancel()
	endpoint := r.cluster.Pods(of.Namespace)
	var now pods
	version, err := r.cluster.List(ctx, endpoint, metav1.ListOptions{LabelSelector: of.Selector}, func(pod *unstructured.Unstructured) { now.see(pod, false) })
	if err != nil {
		return err
	}
	r.put(of, func(p *pods) { *p = now })
	watching, why := applying.Watching(ctx)
	w, err := endpoint.Watch(watching, metav1.ListOptions{LabelSelector: of.Selector, ResourceVersion: version})
	if err != nil {
		return err
	}
	defer w.Stop()
	began := time.Now()
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-w.ResultChan():
			if !ok || e.Type == watch.Error {
				// One that ends at once would make a busy loop.
				pause(ctx, firstPause-time.Since(began))
				return why()
			}
			if pod, isPod := e.Object.(*unstructured.Unstructured); isPod {
				r.put(of, func(p *pods) { p.see(pod, e.Type == watch.Deleted) })
			}
		}
	}
}

// pause waits; false: ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
