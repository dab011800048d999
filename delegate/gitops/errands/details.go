package errands

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/task"
)

const (
	// maxDetails bounds what a step tells of applications, in bytes; Harness has this
	// bound, too.
	maxDetails = 512 << 10
	// settles is how long a comparison may take until what it finds is reported. One that
	// finds nothing new isn't.
	settles = 10 * time.Second
)

// details tells all that is known of applications.
func (j *job) details(ctx context.Context) (task.Result, error) {
	found, err := j.find(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(found) == 0 {
		return task.Result{}, fault.New(fault.Invalid, "found no applications: none that is meant is of service %s on the stage's clusters", j.spec.Stage.Service)
	}
	if j.spec.Hard {
		if err := j.compared(ctx, found); err != nil {
			return task.Result{}, err
		}
	}
	var all []errand.App
	size := 0
	for part := range slices.Chunk(found, atOnce) {
		q := errand.Ask{Do: errand.DoDetails}
		for _, a := range part {
			q.Apps = append(q.Apps, errand.Named{Agent: a.Agent, Name: a.Name})
		}
		answer, err := j.ask(ctx, q)
		if err != nil {
			return task.Result{}, err
		}
		for _, a := range answer.Apps {
			size += len(a.Document)
			all = append(all, a)
		}
	}
	if size > maxDetails {
		return task.Result{}, fault.New(fault.TooLarge, "the %d applications come to %d kB; a step tells %d at most: name fewer", len(all), size>>10, maxDetails>>10)
	}
	return done(all)
}

// compared has applications compared by nothing that is remembered, and waits until what
// was found is known.
func (j *job) compared(ctx context.Context, found []errand.App) error {
	all := make([]*running, len(found))
	for i, a := range found {
		all[i] = &running{app: a}
	}
	if err := j.begin(ctx, errand.DoRefresh, 0, all); err != nil {
		return err
	}
	pause := j.pace.First
	for {
		if err := j.look(ctx, all); err != nil {
			return err
		}
		for _, r := range all {
			q := r.app.Request
			switch {
			case r.stage == over || q == nil || q.Result == nil:
			case q.Result.Failed:
				return fault.New(fault.Invalid, "%s can't be refreshed: %s", r.app.Name, q.Result.Message)
			case r.stage == refreshing:
				r.enter(arriving)
			case r.app.ReportedAt.After(r.asked) || time.Since(r.since) > settles:
				r.enter(over)
			}
		}
		if !slices.ContainsFunc(all, func(r *running) bool { return r.stage != over }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(pause):
		}
		pause = min(pause*3/2, j.pace.Last)
	}
}
