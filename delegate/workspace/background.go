package workspace

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/session"
	"github.com/slipway-cd/slipway/pkg/fault"
	sessions "github.com/slipway-cd/slipway/pkg/session"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// unitBackground is the command unit of the log of programs in the background.
const unitBackground = "Execute"

// NewBackground makes the executor of tasks that begin programs in the background.
func NewBackground(sessions *session.Sessions) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		_, p, err := executor.Work[lane.Background](a)
		if err != nil {
			return task.Result{}, err
		}
		t := &Tool{Section: executor.Section{Env: env, Unit: unitBackground}, Sessions: sessions, Task: a, Spec: p.Run}
		r, err := t.begin(ctx, p)
		return t.Ended(ctx, r, err)
	}
}

// begin begins a program that goes on beside the steps after it.
func (t *Tool) begin(ctx context.Context, p lane.Background) (task.Result, error) {
	t.idle()
	c := session.Command{Part: "background", Script: p.Command, Shell: p.Shell, Out: t.Env.Log(t.Unit), Err: t.Env.LogError(t.Unit)}
	if p.Shell != "python3" {
		c.Script = "set -e\n" + c.Script
	}
	if err := t.environ(ctx, &c); err != nil {
		return task.Result{}, err
	}
	b, err := t.Sessions.Begin(ctx, p.Session, t.Task, p.Name, c)
	if err != nil {
		return task.Result{}, err
	}
	switch exit := b.Exit; {
	case exit == nil:
		t.Say("It goes on until the session ends; other steps reach it at localhost.")
		t.Env.Linger(func(ctx context.Context) {
			b.Follow(ctx, c, func(state sessions.State, err error) { t.told(ctx, b, state, err) })
		})
	case exit.Reason != "":
		return task.Result{}, fault.New(fault.Invalid, "%s: %s", p.Shell, exit.Reason).Causing(fault.ConfigurationFailure)
	case exit.Code != 0:
		return task.Result{}, fault.New(fault.Invalid, "the command ended at once, with exit code %d", exit.Code).Causing(fault.Unknown)
	default:
		t.Say("The command has ended already, with exit code 0; what it has begun goes on until the session ends.")
	}
	return executor.Succeed(map[string]any{})
}

// told tells how a program in the background has ended.
func (t *Tool) told(ctx context.Context, b *session.Beside, state sessions.State, err error) {
	switch exit, after := state.Exit, state.Ended.Sub(state.Started).Round(time.Millisecond); {
	case ctx.Err() != nil:
		t.Warn("this delegate doesn't follow it any more: what it writes from now on isn't kept")
	case err != nil || exit == nil:
		t.Warn("the session is gone, and with it the end of what it wrote")
	case b.Closed():
		t.Say("It has ended with its session.")
	case exit.Signal != 0:
		t.Warn("it was ended by signal %d after %s", exit.Signal, after)
	default:
		t.Warn("it has ended by itself, with exit code %d after %s", exit.Code, after)
	}
}

// missing tells which programs in the background have ended, to a step that has
// failed: it may have needed them.
func (t *Tool) missing(ctx context.Context) {
	for _, e := range t.Sessions.Ended(ctx, t.Spec.Session) {
		t.Warn("the program of the background step %s has ended by itself, with exit code %d after %s", e.Name, e.Exit.Code, e.After.Round(time.Millisecond))
	}
}
