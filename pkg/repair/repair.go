// Package repair brings executions and machine runs together again after one
// has ended, or never began, without the other: a process died between two
// writes, or somebody stopped a run.
//
// It decides nothing about a pipeline: a run that is missing is started, and
// an execution whose run is over is broken off by pkg/engine, which says why
// in the plan. Lost tasks aren't its matter: their waits end by themselves.
package repair

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Config is what a Repairer needs.
type Config struct {
	Store  store.Store
	Runner statemachine.Runner
	Engine *engine.Handler
	Launch *launch.Launcher // starts what is missing
	Now    func() time.Time
	Log    *slog.Logger
}

// Repairer repairs executions.
type Repairer struct{ Config }

// New makes a Repairer.
func New(cfg Config) *Repairer { return &Repairer{Config: cfg} }

// Report is what a sweep found and did.
type Report struct {
	Looked    int      `json:"looked"`              // at executions under way
	Started   []string `json:"started,omitempty"`   // executions whose machine run was missing
	BrokenOff []string `json:"brokenOff,omitempty"` // executions whose machine run had ended
	// OldestTask is the age of the oldest task that no delegate has taken.
	OldestTask time.Duration `json:"oldestTask"`
}

// Sweep looks at every execution that has been under way for at least the
// given time, which whoever starts one is given to start its machine run.
func (r *Repairer) Sweep(ctx context.Context, account string, after time.Duration) (Report, error) {
	var out Report
	var errs []error
	page := store.Page{Limit: 200}
	for {
		list, next, err := r.Store.RunningExecutions(ctx, r.Now().Add(-after), page)
		if err != nil {
			return out, err
		}
		for _, e := range list {
			out.Looked++
			errs = append(errs, r.look(ctx, e, &out))
		}
		if page.Token = next; next == "" {
			break
		}
	}
	open, _, err := r.Store.OpenTasks(ctx, account, store.Page{Limit: 1})
	if len(open) > 0 {
		out.OldestTask = r.Now().Sub(open[0].CreatedAt)
	}
	return out, errors.Join(append(errs, err)...)
}

// look repairs one execution if it must be. One whose plan makes the engine
// panic keeps no other from being repaired.
func (r *Repairer) look(ctx context.Context, e store.Execution, out *Report) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.Log.ErrorContext(ctx, "repairing an execution panicked", "execution", e.ID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("execution %s: repairing it panicked: %v", e.ID, p)
		}
	}()
	p, err := r.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return fmt.Errorf("execution %s: %w", e.ID, err)
	}
	run, err := r.Runner.Describe(ctx, statemachine.RunName(e.ID, string(p.Root.ID)))
	if err != nil {
		return fmt.Errorf("execution %s: %w", e.ID, err)
	}
	switch run.State {
	case statemachine.RunUnderWay:
		return nil
	case statemachine.RunUnknown:
		r.Log.WarnContext(ctx, "started a machine run that was missing", "execution", e.ID)
		out.Started = append(out.Started, e.ID)
		return r.Launch.Run(ctx, e, p.Root.ID)
	case statemachine.RunEnded:
		out.BrokenOff = append(out.BrokenOff, e.ID)
		return r.RunEnded(ctx, e.ID, p.Root.ID, run.Cause)
	}
	return nil
}

// RunEnded takes in that the machine run of a node is over. A node that has
// ended, as nearly all have by then, is left as it is, and so is one of an
// execution that isn't known.
func (r *Repairer) RunEnded(ctx context.Context, id string, node plan.NodeID, cause string) error {
	err := r.Engine.Break(ctx, id, node, "its state machine ended before it did: "+cause)
	if fault.Is(err, fault.NotFound) {
		r.Log.WarnContext(ctx, "a machine run of an unknown execution ended", "execution", id, "node", node, "cause", cause)
		return nil
	}
	return err
}
