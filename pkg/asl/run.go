package asl

import (
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// wait says what a thread waits for.
type wait string

// The waits.
const (
	waitPending  wait = "pending"  // a branch that may not start yet
	waitTask     wait = "task"     // a function that is being invoked
	waitToken    wait = "token"    // a function, then whoever has the token
	waitChild    wait = "child"    // a nested run
	waitTimer    wait = "timer"    // a Wait state
	waitRetry    wait = "retry"    // the interval before another try
	waitBranches wait = "branches" // a Map or Parallel
	waitEnded    wait = "ended"
)

// The statuses of runs.
const (
	statusRunning   = "RUNNING"
	statusSucceeded = "SUCCEEDED"
	statusFailed    = "FAILED"
	statusAborted   = "ABORTED"
)

// run is a run that hasn't ended.
type run struct {
	engine  *Engine
	name    string
	machine *Machine
	input   any
	started time.Time
	parent  string // the token of the wait for this run's end; empty for none
	secret  string // in this run's tokens
	root    *thread
	threads map[int64]*thread
	lastID  int64

	status  string
	output  any
	failure *Failure
	fresh   bool        // not stored yet
	touched *change     // what is being changed, while the engine is locked
	over    bool        // its end is on its way to the disk
	lost    atomic.Bool // the disk has refused a change
}

// thread is the line of control of a run or of a branch.
type thread struct {
	run      *run
	id       int64 // 1 for the run's own
	parent   *thread
	index    int // among its parent's branches
	isItem   bool
	item     any // of a Map
	states   *states
	state    string
	input    any
	entered  time.Time
	retries  []int
	seq      int64 // of the wait; tokens carry it
	wait     wait
	deadline time.Time // by the clock; zero for none
	due      time.Time // the same by the clock that nobody sets
	since    time.Time // the deadline was set
	beat     time.Duration
	lastBeat time.Time
	output   any // of an ended branch
	branches []*thread
	left     int  // branches that haven't ended
	child    *run // the nested run that it waits for
	limit    int

	stored int64 // the seq of its row; 0: it has none
	timer  *time.Timer
}

func (t *thread) def() *state { return t.states.States[t.state] }

func (e *Engine) newRun(name string, m *Machine, input any, parent string) *run {
	r := &run{
		engine: e, name: name, machine: m, input: input, started: e.now(), parent: parent,
		secret: rand.Text()[:12], threads: map[int64]*thread{}, lastID: 1, status: statusRunning, fresh: true,
	}
	r.root = &thread{run: r, id: 1, states: m.states}
	r.threads[1] = r.root
	e.runs[name] = r
	return r
}

func (r *run) trace(state string) {
	if r.engine.Trace {
		r.engine.paths[r.name] = append(r.engine.paths[r.name], state)
	}
}

// end ends the run in memory. Whoever waits for it goes on in the same commit.
func (r *run) end(status string, output any, f *Failure) {
	r.status, r.output, r.failure = status, output, f
	c := r.changed()
	r.stopTimers()
	delete(r.engine.runs, r.name)
	r.engine.ended[r.name] = r
	if r.parent == "" {
		return
	}
	t, _ := r.engine.find(r.parent)
	if t == nil || t.wait != waitChild {
		return
	}
	t.run.touched = c.add(t.run)
	t.child = nil
	if status == statusSucceeded {
		t.complete(map[string]any{
			"ExecutionArn": r.name, "Name": r.name, "StateMachineArn": r.machine.Name, "Status": status, "Input": r.input, "Output": output,
		})
		return
	}
	t.recover(&Failure{Name: "States.TaskFailed", Cause: fmt.Sprintf("run %s ended %s: %s", r.name, status, f)})
}

// dropped stops the nested run that a thread waited for and no longer does.
func (r *run) dropped(t *thread) {
	child := t.child
	if t.child = nil; child == nil || child.status != statusRunning {
		return
	}
	child.parent = ""
	child.touched = r.changed().add(child)
	child.stop(&Failure{Name: "States.TaskFailed", Cause: "the run that started it went on without it"})
}

// stop ends a run as aborted.
func (r *run) stop(f *Failure) {
	r.root.dropBranches()
	r.dropped(r.root)
	r.root.wait = waitEnded
	r.root.seq++
	r.end(statusAborted, nil, f)
}

func (r *run) stopTimers() {
	for _, t := range r.threads {
		if t.timer != nil {
			t.timer.Stop()
		}
	}
}

// token names a thread's wait; the secret makes it unguessable.
func (t *thread) token() string {
	return fmt.Sprintf("%s|%d|%d|%s", t.run.name, t.id, t.seq, t.run.secret)
}

// find finds the thread whose wait a token names; nil if it has ended.
func (e *Engine) find(token string) (t *thread, wellFormed bool) {
	parts := strings.Split(token, "|")
	if len(parts) != 4 {
		return nil, false
	}
	id, err1 := strconv.ParseInt(parts[1], 10, 64)
	seq, err2 := strconv.ParseInt(parts[2], 10, 64)
	if err1 != nil || err2 != nil {
		return nil, false
	}
	r := e.runs[parts[0]]
	if r == nil || subtle.ConstantTimeCompare([]byte(r.secret), []byte(parts[3])) == 0 {
		return nil, true
	}
	if t = r.threads[id]; t == nil || t.seq != seq {
		return nil, true
	}
	return t, true
}
