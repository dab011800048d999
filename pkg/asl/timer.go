package asl

import (
	"errors"
	"time"
)

// A wait for a length of time is measured by the clock that nobody sets, so
// setting the machine's clock neither shortens nor stretches it. Its end is
// also kept as a time of day, for the next process: there a wait is never
// longer than it was at first. A wait until a time of day follows the clock.

// lookAgain is how often a wait until a time of day looks at the clock, which
// may have been set.
const lookAgain = time.Minute

// waitFor sets a thread's deadline.
func (t *thread) waitFor(d time.Duration) {
	t.since = t.run.engine.now()
	t.deadline, t.due = t.since.Add(d), time.Now().Add(d)
}

// rewait measures what is left of a wait that was loaded from the disk.
func (t *thread) rewait() {
	left := min(t.deadline.Sub(t.run.engine.now()), t.deadline.Sub(t.since))
	t.due = time.Now().Add(left)
}

// timeLeft is what is left until the deadline.
func (t *thread) timeLeft() time.Duration {
	if st := t.def(); t.wait == waitTimer && (st.TimestampPath != nil || st.Timestamp != "") {
		return t.deadline.Sub(t.run.engine.now())
	}
	return time.Until(t.due)
}

// silence is what is left until a heartbeat is missed.
func (t *thread) silence() time.Duration { return time.Until(t.lastBeat.Add(t.beat)) }

func (t *thread) beats() bool { return t.beat > 0 && t.wait == waitToken }

// arm sets the timer for the earliest moment at which the wait may have to
// end by itself. The engine is locked.
func (t *thread) arm() {
	if t.deadline.IsZero() && !t.beats() {
		return
	}
	var in time.Duration
	switch {
	case t.deadline.IsZero():
		in = t.silence()
	case t.wait == waitTimer:
		in = min(t.timeLeft(), lookAgain)
	default:
		in = t.timeLeft()
	}
	if t.beats() {
		in = min(in, t.silence())
	}
	seq := t.seq
	t.timer = time.AfterFunc(max(in, 0), func() { t.expire(seq) })
}

func (t *thread) stopTimer() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// expire ends a wait whose time is up, or sets its timer anew if a heartbeat
// or the clock has given it more.
func (t *thread) expire(seq int64) {
	e := t.run.engine
	err := e.change(e.ctx, func() (*change, error) {
		if t.seq != seq {
			return nil, nil
		}
		if !t.expired() && (!t.beats() || t.silence() > 0) {
			t.arm()
			return nil, nil
		}
		c := t.run.changed()
		t.timeUp()
		return c, nil
	})
	if err != nil && !errors.Is(err, errClosed) {
		e.Log.ErrorContext(e.ctx, "a timer's end was lost", "run", t.run.name, "error", err)
	}
}

func (t *thread) expired() bool { return !t.deadline.IsZero() && t.timeLeft() <= 0 }

// timeUp ends a wait by itself. A missed heartbeat is a time-out as any other.
func (t *thread) timeUp() {
	switch t.wait {
	case waitTimer:
		t.passed()
	case waitRetry:
		t.plan(t.def())
	case waitTask, waitToken, waitChild:
		f := &Failure{Name: errTimeout, beats: !t.expired()}
		t.run.dropped(t)
		t.recover(f)
	case waitPending, waitBranches, waitEnded:
	}
}
