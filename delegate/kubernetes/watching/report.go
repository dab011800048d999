package watching

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// reportLoop reports what runs whenever it has changed, and every
// task.ObserveEvery, until ctx ends or the watch is somebody else's.
func (r *release) reportLoop(ctx context.Context) error {
	var last *task.Observed // as it arrived; nil: nothing has
	due := time.NewTimer(task.ObserveEvery)
	defer due.Stop()
	for wait := firstPause; ; {
		hourly := false
		select {
		case <-ctx.Done():
			return r.lastWords(ctx, last)
		case <-due.C:
			hourly = true
		case <-r.changed:
			if !pause(ctx, settle) {
				return r.lastWords(ctx, last)
			}
		}
		o, known := r.observe(ctx)
		if !known || !hourly && last != nil && reflect.DeepEqual(o, *last) {
			continue
		}
		err := r.report(ctx, o)
		switch {
		case err == nil:
			last, wait = &o, firstPause
			due.Reset(task.ObserveEvery)
			pause(ctx, apart)
		case fault.Is(err, fault.LeaseLost):
			return err
		default:
			pause(ctx, wait)
			wait = min(2*wait, longestPause)
			r.signal()
		}
	}
}

// lastWords reports why a watch ends by itself: what is seen then is that it
// can't be seen.
func (r *release) lastWords(ctx context.Context, last *task.Observed) error {
	if !refused(context.Cause(ctx)) {
		return nil
	}
	o, _ := r.observe(ctx)
	if o.Trouble == "" || last != nil && last.Trouble == o.Trouble {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), longestPause)
	defer stop()
	return r.report(ctx, o)
}

// observe is what is known now; false: not all was looked at yet.
func (r *release) observe(ctx context.Context) (task.Observed, bool) {
	o, known := r.running()
	if !known || o.Trouble != "" {
		return o, known
	}
	for _, known := range r.watch.Workloads {
		w, err := r.cluster.Workload(ctx, known.Resource)
		if fault.Is(err, fault.Forbidden) {
			continue // pods may be seen and workloads not: then there is no drift to tell of
		}
		if err != nil {
			return task.Observed{Trouble: fmt.Sprintf("look at %s: %s", known.Resource, err)}, ctx.Err() == nil
		}
		o.Workloads = append(o.Workloads, w)
	}
	return o, ctx.Err() == nil
}

// running is which pods are known to run.
func (r *release) running() (task.Observed, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := task.Observed{Instances: []task.Instance{}}
	for _, of := range r.watched {
		p, looked := r.pods[of]
		if !looked {
			return task.Observed{}, false
		}
		if p.trouble != nil {
			return task.Observed{Trouble: fmt.Sprintf("namespace %s: %s", of.Namespace, p.trouble)}, true
		}
		for _, i := range p.instances {
			i.Release = r.watch.Target.Release // charts needn't mark their pods
			o.Instances = append(o.Instances, i)
		}
	}
	byName := func(a, b task.Instance) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}
	slices.SortFunc(o.Instances, byName)
	o.Instances = slices.CompactFunc(o.Instances, func(a, b task.Instance) bool { return byName(a, b) == 0 })
	o.Instances = o.Instances[:min(len(o.Instances), task.MaxInstances)]
	return o, true
}
