package workspacetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Trial is a step that has a tool deploy a stack, and the one that takes that back.
type Trial struct {
	*Machine

	Run          executor.Executor
	Deploy, Undo task.Assignment
	Stack        string
	// Back brings into a new session what Undo needs there; nil: nothing.
	Back func()
}

// tried are trials of the same, and what comes of them.
type tried struct {
	t               *testing.T
	fresh           func(t *testing.T) Trial
	deploys, undoes []string // the calls by which they change something
	before, after   string
}

func try(t *testing.T, fresh func(t *testing.T) Trial) tried {
	t.Helper()
	x := fresh(t)
	all := tried{t: t, fresh: fresh, before: x.state()}
	all.deploys = x.changes(func() { x.Do(x.Run, x.Deploy, task.Succeeded) })
	all.after = x.state()
	all.undoes = x.changes(x.undo)
	x.is(all.before)
	if len(all.deploys) == 0 || len(all.undoes) == 0 || all.before == all.after {
		t.Fatalf("the steps change nothing: %v, %v", all.deploys, all.undoes)
	}
	return all
}

func (all tried) run(name string, do func(x Trial)) {
	all.t.Run(name, func(t *testing.T) {
		t.Parallel()
		do(all.fresh(t))
	})
}

// Try tries a step in what may come between, at each call by which the tool changes
// something: a refusal of AWS's, an abort, the end of the time, a delegate that is
// killed; and by throttled calls and a repeated delivery. It has to end at what is
// wanted, or to be taken back to what was there before; so has the way back, killed
// at each of its calls.
func Try(t *testing.T, fresh func(t *testing.T) Trial) {
	t.Helper()
	all := try(t, fresh)
	all.run("delivered twice, and once more when nothing differs", func(x Trial) {
		x.Do(x.Run, x.Deploy, task.Succeeded)
		x.Do(x.Run, x.Deploy, task.Succeeded)
		x.is(all.after)
		x.Do(x.Run, again(x.Deploy), task.Succeeded)
		x.is(all.after)
	})
	all.run("throttled", func(x Trial) {
		for _, c := range slices.Compact(slices.Sorted(slices.Values(all.deploys))) {
			x.World.Throttle(c, 1)
		}
		x.Do(x.Run, x.Deploy, task.Succeeded)
		x.is(all.after)
	})
	all.run("its time is up", func(x Trial) { // and the stack still changes
		x.stopped(x.Deploy, all.deploys, len(all.deploys)-1, func(stop context.CancelCauseFunc) {
			x.World.Hold()
			stop(executor.ErrTimeout)
		})
		x.World.Go()
		x.undo()
		x.is(all.before)
	})
	for n, c := range all.deploys {
		at := fmt.Sprintf(" %d %s", n+1, c)
		all.run("denied"+at, func(x Trial) {
			x.World.Fail(c, testaws.Fault{Code: "AccessDenied", Message: "nobody may do that here", After: earlier(all.deploys, n), Times: 1})
			x.Do(x.Run, x.Deploy, task.Failed)
			x.Says("nobody may do that here")
			x.undo()
			x.is(all.before)
		})
		all.run("aborted after"+at, func(x Trial) {
			x.stopped(x.Deploy, all.deploys, n, func(stop context.CancelCauseFunc) { stop(executor.ErrCancelled) })
			x.undo()
			x.is(all.before)
		})
		all.run("killed after"+at+", and tried again", func(x Trial) {
			x.killed(x.Deploy, all.deploys, n)
			x.Do(x.Run, again(x.Deploy), task.Succeeded)
			x.is(all.after)
			x.undo()
			x.is(all.before)
		})
	}
	for n, c := range all.undoes {
		all.run(fmt.Sprintf("killed on the way back after %d %s", n+1, c), func(x Trial) {
			x.Do(x.Run, x.Deploy, task.Succeeded)
			x.back()
			x.killed(x.Undo, all.undoes, n)
			x.Do(x.Run, again(x.Undo), task.Succeeded)
			x.is(all.before)
		})
	}
	all.takenBack()
}

// TryFirst tries a step that makes what wasn't there: with its delegate killed at each
// call by which the tool changes something, it has to be taken back to nothing.
func TryFirst(t *testing.T, fresh func(t *testing.T) Trial) {
	t.Helper()
	try(t, fresh).takenBack()
}

func (all tried) takenBack() {
	for n, c := range all.deploys {
		all.run(fmt.Sprintf("killed after %d %s, and taken back", n+1, c), func(x Trial) {
			x.killed(x.Deploy, all.deploys, n)
			x.undo()
			x.is(all.before)
		})
	}
}

// again is a task's next attempt.
func again(a task.Assignment) task.Assignment {
	a.Attempt++
	a.Fence++
	return a
}

// back opens the session of the rollback.
func (x Trial) back() {
	x.t.Helper()
	x.Reopen()
	if x.Back != nil {
		x.Back()
	}
}

func (x Trial) undo() {
	x.t.Helper()
	x.back()
	x.Do(x.Run, x.Undo, task.Succeeded)
}

// state is the stack, of which all that ended well is the same.
func (x Trial) state() string {
	x.t.Helper()
	status, template := x.Machine.Stack(x.Stack)
	if slices.Contains([]string{"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"}, status) {
		status = "is there"
	}
	return status + " " + template
}

func (x Trial) is(want string) {
	x.t.Helper()
	if got := x.state(); got != want {
		x.t.Errorf("the stack is %q; want %q\n%s", got, want, x.Log())
	}
}

// changes are the calls by which something is changed.
func (x Trial) changes(do func()) []string {
	x.t.Helper()
	before := len(x.World.Calls())
	do()
	var out []string
	for _, c := range x.World.Calls()[before:] {
		if _, name, _ := strings.Cut(c.Operation, ":"); testaws.Changing(name) && !strings.HasPrefix(name, "Validate") && !strings.HasPrefix(name, "Assume") {
			out = append(out, c.Operation)
		}
	}
	return out
}

// earlier counts the calls of the same operation before the nth.
func earlier(calls []string, n int) int {
	count := 0
	for _, c := range calls[:n] {
		if c == calls[n] {
			count++
		}
	}
	return count
}

// stopped does a task whose context then ends, once the nth of its calls has taken
// effect; the answer of that doesn't come.
func (x Trial) stopped(a task.Assignment, calls []string, n int, then func(stop context.CancelCauseFunc)) {
	x.t.Helper()
	done := x.World.Count(calls[n]) + earlier(calls, n) + 1
	x.World.Fail(calls[n], testaws.Fault{Cut: testaws.Stall, After: earlier(calls, n), Times: 1})
	ctx, stop := context.WithCancelCause(x.t.Context())
	go func() {
		x.World.Await(calls[n], done)
		then(stop)
	}()
	if r, err := x.Run(ctx, a, x.Env.Env); err == nil || !errors.Is(err, context.Cause(ctx)) {
		x.t.Errorf("it is %s: %s, %v; want %v\n%s", r.Status, r.Message, err, context.Cause(ctx), x.Log())
	}
}

// killed does a task whose delegate is killed there; the tool goes on.
func (x Trial) killed(a task.Assignment, calls []string, n int) {
	x.t.Helper()
	x.stopped(a, calls, n, func(stop context.CancelCauseFunc) { stop(executor.ErrLeaseLost) })
}
