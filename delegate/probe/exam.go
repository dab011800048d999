package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// exam is a test of one connector under way: what was checked so far.
type exam struct {
	cfg  Config
	task task.Assignment
	env  executor.Env
	net  *network

	mu     sync.Mutex
	list   []probe.Check
	status probe.Status
	since  time.Time // when the check that is being made began
}

func newExam(cfg Config, a task.Assignment, env executor.Env) *exam {
	x := &exam{cfg: cfg, task: a, env: env, status: probe.Success, since: time.Now()}
	x.net = newNetwork(cfg, x)
	return x
}

// found is what was found.
func (x *exam) found() probe.Result {
	x.mu.Lock()
	defer x.mu.Unlock()
	return probe.Result{Status: x.status, Checks: x.list}
}

// pass notes a check that is all right.
func (x *exam) pass(name probe.CheckName, format string, args ...any) {
	x.note(probe.Check{Name: name, OK: true, Message: fmt.Sprintf(format, args...)}, probe.Success)
}

// fail notes one that isn't.
func (x *exam) fail(name probe.CheckName, format string, args ...any) {
	x.note(probe.Check{Name: name, Message: fmt.Sprintf(format, args...)}, probe.Failure)
}

// lack notes that a permission is missing without which the connector may be good
// for all else.
func (x *exam) lack(format string, args ...any) {
	x.note(probe.Check{Name: probe.CheckPermission, Message: fmt.Sprintf(format, args...)}, probe.Partial)
}

// doubt notes one that can't be made.
func (x *exam) doubt(name probe.CheckName, format string, args ...any) {
	x.note(probe.Check{Name: name, Message: fmt.Sprintf(format, args...)}, probe.Unknown)
}

// note adds a check, which took as long as it is since the one before.
func (x *exam) note(c probe.Check, status probe.Status) {
	x.mu.Lock()
	now := time.Now()
	c.Took, x.since = now.Sub(x.since).Milliseconds(), now
	x.mu.Unlock()
	x.add(c, status)
}

// add adds a check whose time was taken.
func (x *exam) add(c probe.Check, status probe.Status) {
	x.mu.Lock()
	x.list = append(x.list, c)
	if rank(status) > rank(x.status) {
		x.status = status
	}
	x.mu.Unlock()
	log, mark := x.env.Log(Unit), "ok"
	if !c.OK {
		log, mark = x.env.LogError(Unit), "failed"
	}
	fmt.Fprintf(log, "%s: %s: %s\n", c.Name, mark, c.Message)
}

// rank orders statuses: the worst of the checks is the test's.
func rank(s probe.Status) int {
	switch s {
	case probe.Success:
	case probe.Partial:
		return 1
	case probe.Unknown:
		return 2
	case probe.Failure:
		return 3
	}
	return 0
}

// broken says whether a check has failed, so that those after it are in vain.
func (x *exam) broken() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status == probe.Failure
}

// late says whether an error is that the time is up.
func late(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
}
