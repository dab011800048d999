package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// deadlineExceeded is the reason with which a Deployment gives up.
const deadlineExceeded = "ProgressDeadlineExceeded"

// steady waits until every workload has rolled out, all side by side; the
// first that fails ends the wait (kubernetes spec §10).
func (s *session) steady(ctx context.Context, workloads []*unstructured.Unstructured) error {
	if s.p.SkipSteadyState || len(workloads) == 0 {
		return nil
	}
	log := s.env.Log(unitSteady)
	stop := s.followEvents(ctx, workloads, log)
	g, waitCtx := errgroup.WithContext(ctx)
	for _, w := range workloads {
		g.Go(func() error { return s.steadyOne(waitCtx, w, log) })
	}
	err := g.Wait()
	stop()
	if err == nil {
		return nil
	}
	return because(s.explain(ctx, workloads), err)
}

// steadyOne follows one workload and logs its progress, where it is news.
func (s *session) steadyOne(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	last := ""
	err := s.watchOne(ctx, w, func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return false, fault.New(fault.NotFound, "%s was deleted while it rolled out", display(w))
		}
		done, progress, err := rollout(s.past.without(live))
		if progress != last {
			last = progress
			say(log, "%s: %s", display(live), progress)
		}
		return done, err
	})
	if err != nil && ctx.Err() != nil { // what was still missing when the time was up
		return fmt.Errorf("%s isn't steady yet (%s): %w", display(w), last, context.Cause(ctx))
	}
	return err
}

// namespaces lists those that objects are in.
func namespaces(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, o := range objects {
		if n := o.GetNamespace(); n != "" && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}
