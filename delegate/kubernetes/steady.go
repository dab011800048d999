package kubernetes

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// deadlineExceeded is the reason with which a Deployment gives up.
const deadlineExceeded = "ProgressDeadlineExceeded"

// lookout waits for workloads, and finds out why they don't come.
type lookout struct {
	client *client
	env    executor.Env
	p      lane.Spec
	past   past
}

// steady waits until every workload has rolled out, all side by side; the
// first that fails ends the wait (semantics/kubernetes §10).
func (l *lookout) steady(ctx context.Context, workloads []*unstructured.Unstructured) error {
	if l.p.SkipSteadyState || len(workloads) == 0 {
		return nil
	}
	log := l.env.Log(unitSteady)
	stop := l.client.followEvents(ctx, workloads, log)
	g, waitCtx := errgroup.WithContext(ctx)
	for _, w := range workloads {
		g.Go(func() error { return l.steadyOne(waitCtx, w, log) })
	}
	err := g.Wait()
	stop()
	if err == nil {
		return nil
	}
	return because(l.explain(ctx, workloads, unitSteady), err)
}

// progressDeadline is how long a workload may make no progress.
func progressDeadline(w *unstructured.Unstructured) time.Duration {
	if seconds, ok := number(w, "spec", "progressDeadlineSeconds"); ok {
		return time.Duration(seconds) * time.Second
	}
	return 10 * time.Minute
}

func noProgress(w *unstructured.Unstructured) error {
	return fault.New(fault.Conflict, "%s exceeded its progress deadline: it made no progress for %s", display(w), progressDeadline(w)).Causing(fault.Unknown)
}

// longerThanController is what the controller has to give a workload up before
// the delegate does.
const longerThanController = 10 * time.Second

// steadyOne follows one workload and logs its progress, where it is news. It
// gives up one whose pods can't be made, or that its controller gave up too
// early, when nothing moves until its progress deadline is over: a Deployment's
// controller doesn't, if its note that the roll-out began was lost to another
// change.
func (l *lookout) steadyOne(ctx context.Context, w *unstructured.Unstructured, log io.Writer) error {
	last := ""
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var patience *time.Timer
	defer func() {
		if patience != nil {
			patience.Stop()
		}
	}()
	err := l.client.Watch(ctx, w, func(live *unstructured.Unstructured) (bool, error) {
		if live == nil {
			return false, fault.New(fault.NotFound, "%s was deleted while it rolled out", display(w))
		}
		done, progress, err := rollout(l.past.without(live))
		if progress != last {
			last = progress
			say(log, "%s: %s", display(live), progress)
			if patience != nil {
				patience.Reset(progressDeadline(live) + longerThanController)
			}
		}
		switch lacking := condition(live, "ReplicaFailure")["status"] == "True" || tooEarly(live); {
		case lacking && patience == nil:
			patience = time.AfterFunc(progressDeadline(live)+longerThanController, func() { giveUp(noProgress(live)) })
		case !lacking && patience != nil:
			patience.Stop()
			patience = nil
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
