package agent

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// claimLoop claims tasks until ctx ends. It is woken by the socket, by a
// place that gets free while there is a backlog, and by the poll timer, which
// covers a lost wake-up. Tasks run under alive.
func (a *Agent) claimLoop(ctx, alive context.Context) {
	poll := time.NewTimer(0)
	defer poll.Stop()
	failures := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.work:
		case <-poll.C:
		}
		if ctx.Err() != nil {
			return
		}
		if err := a.claim(ctx, alive); err != nil {
			a.Log.WarnContext(ctx, "can't claim tasks; will try again", "error", err)
			poll.Reset(backOff(failures))
			failures++
			continue
		}
		failures = 0
		poll.Reset(spread(a.pollEvery()))
	}
}

// claim fills the free places, until there are none or no more open tasks.
func (a *Agent) claim(ctx, alive context.Context) error {
	for ctx.Err() == nil {
		running, free, quiet, line := a.places()
		if free == 0 && a.claims.settled() {
			return nil
		}
		// The answer to a claim must be heard even if ctx ends meanwhile, or its
		// tasks would have a holder who doesn't know of them.
		var out struct {
			Tasks []task.Assignment `json:"tasks"`
		}
		at := time.Now()
		in := a.claims.next(protocol.Claim{Max: free, Running: running, Quiet: quiet, Line: line})
		if err := a.api.post(alive, a.id+"/claim", in, &out); err != nil {
			a.claims.lose(in.Number)
			return a.known(ctx, err)
		}
		for _, g := range a.claims.told(in, at) {
			a.bury(alive, g)
		}
		a.announced(at, quiet)
		if ctx.Err() != nil {
			a.release(alive, in.Number, out.Tasks)
			return nil
		}
		a.start(alive, out.Tasks, at)
		if len(out.Tasks) < free || free == 0 {
			return nil
		}
	}
	return nil
}

// places counts running tasks and free places. Without a free one, the next
// that gets free asks for more. quiet is how long the delegate may be silent,
// as long as the socket with the number line is open.
func (a *Agent) places() (running, free int, quiet time.Duration, line int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	running = len(a.running)
	free = max(a.Capacity-running, 0)
	a.backlog = free == 0
	quiet, line = a.mayBeQuiet()
	return running, free, quiet, line
}

// unconnectedPoll is how often an agent looks for work that nobody can wake it
// for.
const unconnectedPoll = 30 * time.Second

func (a *Agent) pollEvery() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	every := a.timing.PollEvery
	if !a.connected {
		every = min(every, unconnectedPoll)
	}
	if !a.claims.settled() {
		every = min(every, unsettledPoll)
	}
	return every
}

// release gives tasks back that this delegate won't begin.
func (a *Agent) release(ctx context.Context, claim int64, tasks []task.Assignment) {
	for _, t := range tasks {
		if err := a.api.post(ctx, a.taskPath(t.ID, "release"), protocol.Held{ID: t.ID, Fence: t.Fence}, nil); err != nil {
			a.Log.WarnContext(ctx, "can't release a task", "task", t.ID, "error", err)
			a.claims.lose(claim)
		}
	}
}

// disown gives back, before the agent says goodbye, what it was given and
// never got: the goodbye ends what it still holds.
func (a *Agent) disown(ctx context.Context) {
	if a.claims.settled() {
		return
	}
	if err := a.api.post(ctx, a.id+"/claim", a.claims.next(protocol.Claim{}), nil); err != nil {
		a.Log.WarnContext(ctx, "can't give back what never arrived", "error", err)
	}
}

// start runs claimed tasks. Their leases began at the latest when the claim's
// answer was asked for.
func (a *Agent) start(alive context.Context, tasks []task.Assignment, at time.Time) {
	if len(tasks) == 0 {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range tasks {
		mark := rand.Text()
		guarded, release := a.dog.Guard(alive, mark)
		r := newRunning(guarded, t, at)
		r.mark, r.release = mark, release
		a.running[t.ID] = r
		a.tasks.Go(func() { a.run(r) })
	}
	a.schedule(at)
}

// ended takes a task off the list and frees its place.
func (a *Agent) ended(r *running) {
	a.mu.Lock()
	if a.running[r.ID] == r {
		delete(a.running, r.ID)
	}
	more := a.backlog
	a.mu.Unlock()
	r.release()
	r.cancel(nil)
	if more {
		signal(a.work)
	}
}
