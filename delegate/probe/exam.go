package probe

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// exam is a test of one connector under way: what was checked so far.
type exam struct {
	cfg  Config
	task task.Assignment
	env  executor.Env
	net  *network

	mu     sync.Mutex
	list   []task.Check
	status task.ProbeStatus
	since  time.Time // when the check that is being made began
}

func newExam(cfg Config, a task.Assignment, env executor.Env) *exam {
	x := &exam{cfg: cfg, task: a, env: env, status: task.ProbeSuccess, since: time.Now()}
	x.net = newNetwork(cfg, x)
	return x
}

// found is what was found.
func (x *exam) found() task.Probed {
	x.mu.Lock()
	defer x.mu.Unlock()
	return task.Probed{Status: x.status, Checks: x.list}
}

// pass notes a check that is all right.
func (x *exam) pass(name task.CheckName, format string, args ...any) {
	x.note(task.Check{Name: name, OK: true, Message: fmt.Sprintf(format, args...)}, task.ProbeSuccess)
}

// fail notes one that isn't.
func (x *exam) fail(name task.CheckName, format string, args ...any) {
	x.note(task.Check{Name: name, Message: fmt.Sprintf(format, args...)}, task.ProbeFailure)
}

// lack notes that a permission is missing without which the connector may be good
// for all else.
func (x *exam) lack(format string, args ...any) {
	x.note(task.Check{Name: task.CheckPermission, Message: fmt.Sprintf(format, args...)}, task.ProbePartial)
}

// doubt notes one that can't be made.
func (x *exam) doubt(name task.CheckName, format string, args ...any) {
	x.note(task.Check{Name: name, Message: fmt.Sprintf(format, args...)}, task.ProbeUnknown)
}

// note adds a check, which took as long as it is since the one before.
func (x *exam) note(c task.Check, status task.ProbeStatus) {
	x.mu.Lock()
	now := time.Now()
	c.Took, x.since = now.Sub(x.since).Milliseconds(), now
	x.mu.Unlock()
	x.add(c, status)
}

// add adds a check whose time was taken.
func (x *exam) add(c task.Check, status task.ProbeStatus) {
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
func rank(s task.ProbeStatus) int {
	switch s {
	case task.ProbeSuccess:
	case task.ProbePartial:
		return 1
	case task.ProbeUnknown:
		return 2
	case task.ProbeFailure:
		return 3
	}
	return 0
}

// broken says whether a check has failed, so that those after it are in vain.
func (x *exam) broken() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.status == task.ProbeFailure
}

// late says whether an error is that the time is up.
func late(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
}
