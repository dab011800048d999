package asl

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
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
	output   any  // of an ended branch
	child    *run // the nested run that it waits for

	// Of a Map or Parallel.
	branches []*thread // that have begun
	pending  []*thread // that haven't, though they are made
	items    []any     // of a Map
	shared   any       // what the branches have in common: their input, or what ItemSelector reads
	count    int       // branches in all
	next     int       // the first that isn't made
	active   int       // that have begun and not ended
	left     int       // that haven't ended
	limit    int       // MaxConcurrency
	filling  int64     // the seq for which branches are being started

	stored int64 // the seq of its row; 0: it has none
	timer  *time.Timer
}

// moved makes tokens and timers of the wait so far void, and has the thread
// stored with the change.
func (t *thread) moved() {
	t.seq++
	c := t.run.changed()
	c.moved = append(c.moved, t)
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
		t.answered("states", r.description())
		return
	}
	t.recover(&Failure{Name: errTaskFailed, Cause: string(encode(r.description()))})
}

// description is what the run that waits for this one hears of it.
func (r *run) description() map[string]any {
	out := map[string]any{
		"ExecutionArn": r.name, "Name": r.name, "StateMachineArn": r.machine.Name, "Status": r.status, "RedriveCount": json.Number("0"),
		"Input": r.input, "InputDetails": map[string]any{"Included": true},
		"StartDate": json.Number(strconv.FormatInt(r.started.UnixMilli(), 10)), "StopDate": json.Number(strconv.FormatInt(r.engine.now().UnixMilli(), 10)),
	}
	if r.failure == nil {
		out["Output"], out["OutputDetails"] = r.output, map[string]any{"Included": true}
		return out
	}
	out["Error"], out["Cause"] = r.failure.Name, r.failure.Cause
	out["Input"] = string(encode(r.input)) // the answer of the API, in which it is a text
	return out
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
	r.root.moved()
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
