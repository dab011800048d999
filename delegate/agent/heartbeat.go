package agent

import (
	"context"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// heartbeatLoop renews the leases of running tasks, three times within each
// lease, and says that the delegate lives. An idle delegate sends one
// heartbeat per period and nothing else; where its polls count as heartbeats
// and its socket is open, not even these. One that doesn't arrive is sent again
// soon, each time a little later.
func (a *Agent) heartbeatLoop(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	failures := 0
	for {
		timer.Reset(time.Until(a.nextBeat()))
		select {
		case <-ctx.Done():
			return
		case <-a.beats: // the schedule has changed
			continue
		case <-timer.C:
		}
		beat, wanted := a.prepareBeat(time.Now())
		if !wanted {
			continue
		}
		err := a.beat(ctx, beat)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.Log.WarnContext(ctx, "can't send a heartbeat; will try again", "error", err)
			a.postpone(time.Now(), failures)
			failures++
			continue
		}
		failures = 0
	}
}

// nextBeat says when to look at the heartbeat again.
func (a *Agent) nextBeat() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.beatAt
}

// schedule brings the next heartbeat forward if a lease of a task that has
// just begun needs it. The caller holds the lock.
func (a *Agent) schedule(now time.Time) {
	if next := a.renewal(now, a.beatAt); next.Before(a.beatAt) {
		a.beatAt = next
		signal(a.beats)
	}
}

// due is when the delegate must be heard of again after a beat at now. The
// caller holds the lock.
func (a *Agent) due(now time.Time) time.Time {
	return a.renewal(now, a.beatLast.Add(a.timing.HeartbeatEvery+a.quiet))
}

// renewal is when leases that were renewed at now must be again, if that is
// before next: in a third of the shortest lease, so that two may get lost. The
// caller holds the lock.
func (a *Agent) renewal(now, next time.Time) time.Time {
	for _, r := range a.running {
		if renew := now.Add(r.Lease / 3); renew.Before(next) {
			next = renew
		}
	}
	return next
}

// heartbeat is one heartbeat with what must be true when it is answered.
type heartbeat struct {
	protocol.Heartbeat
	at    time.Time
	tasks []*running
}

// prepareBeat makes the heartbeat that is due at now. None is wanted if the
// tasks that it was scheduled for have ended.
func (a *Agent) prepareBeat(now time.Time) (heartbeat, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.running) == 0 && !a.draining && now.Before(a.beatLast.Add(a.timing.HeartbeatEvery+a.quiet)) {
		a.beatAt = a.due(now)
		return heartbeat{}, false
	}
	quiet, line := a.mayBeQuiet()
	b := heartbeat{at: now, Heartbeat: protocol.Heartbeat{Draining: a.draining, Running: []protocol.Held{}, Quiet: quiet, Line: line}}
	for _, r := range a.running {
		b.tasks = append(b.tasks, r)
		b.Running = append(b.Running, protocol.Held{ID: r.ID, Fence: r.Fence})
	}
	// While it is on its way, nothing else is due.
	a.beatAt = a.renewal(now, now.Add(a.timing.HeartbeatEvery+quiet))
	return b, true
}

// mayBeQuiet is how long the delegate may be silent: while it holds nothing
// and would be woken, over the socket with the number line. The caller holds
// the lock.
func (a *Agent) mayBeQuiet() (quiet time.Duration, line int64) {
	if len(a.running) > 0 || a.draining || !a.connected || a.timing.Quiet == 0 {
		return 0, 0
	}
	return a.timing.Quiet, a.line
}

// announced takes in that the control plane heard of the delegate at a time,
// and for how long it will be silent.
func (a *Agent) announced(at time.Time, quiet time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if quiet > 0 && a.connected {
		a.beatLast, a.quiet = at, quiet
		a.beatAt = a.due(at)
		signal(a.beats)
	}
}

// beat sends a heartbeat and does what its answer says.
func (a *Agent) beat(ctx context.Context, b heartbeat) error {
	var out protocol.HeartbeatAnswer
	if err := a.api.post(ctx, a.id+"/heartbeat", b.Heartbeat, &out); err != nil {
		return a.known(ctx, err)
	}
	for _, id := range out.Cancel {
		a.cancel(id, executor.ErrCancelled)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range b.tasks {
		r.until = b.at.Add(r.Lease)
	}
	a.arrived(b)
	return nil
}

// arrived takes in that a heartbeat was heard. If the socket that it relied on
// has closed since, its silence isn't kept. The caller holds the lock.
func (a *Agent) arrived(b heartbeat) {
	if b.Quiet > 0 && (!a.connected || a.line != b.Line) {
		a.quiet, a.beatAt = 0, time.Now()
		a.beatLast = a.beatAt.Add(-a.timing.HeartbeatEvery)
		return
	}
	a.beatLast, a.quiet = b.at, b.Quiet
	if next := a.due(b.at); next.Before(a.beatAt) {
		a.beatAt = next
	}
}

// postpone schedules the next try after a heartbeat that didn't get through,
// and stops the tasks whose leases have ended meanwhile: somebody else may be
// told to do their work.
func (a *Agent) postpone(now time.Time, failures int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.running {
		if r.until.Before(now) {
			r.cancel(executor.ErrLeaseLost)
		}
	}
	a.beatAt = a.renewal(now, now.Add(backOff(failures)))
}

// cancel stops a task; one that isn't running is no error.
func (a *Agent) cancel(id task.ID, cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r, ok := a.running[id]; ok {
		r.cancel(cause)
	}
}

func (a *Agent) cancelAll(cause error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.running {
		r.cancel(cause)
	}
}
