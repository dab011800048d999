package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze/calendar"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/trace"
)

// Waker tells delegates that there is work or that a task was cancelled, so
// that they needn't poll. It may fail silently: polls and heartbeats cover it.
type Waker interface {
	Wake(ctx context.Context, scope ref.Scope)
	// Look says that there may be something new to watch.
	Look(ctx context.Context, scope ref.Scope)
	Cancel(ctx context.Context, account, delegate string, id task.ID)
	// News says to a delegate that there is news for the GitOps agent that it is, too.
	News(ctx context.Context, account, delegate string)
}

// Config is what a Handler needs.
type Config struct {
	Store   store.Store
	Runner  statemachine.Runner
	Waker   Waker
	Steps   []step.Type
	Types   entity.Types
	Windows Windows
	Mail    *mail.Server // of Email steps; nil: there is none. Its password refers to a secret.
	Limits  Limits
	// Policies are asked when steps start, by Policy steps, and about what steps
	// enforce; nil: there are none.
	Policies *judge.Judge
	// StartChained starts the execution of a chained pipeline.
	StartChained func(context.Context, Chained) (store.Execution, error)
	Now          func() time.Time
	Log          *slog.Logger
	// Changed is told of every committed change of an execution, for live
	// views; nil tells nobody.
	Changed func(execution string)
	// Trace gets every node that ends; nil makes no spans.
	Trace *trace.Recorder
}

// Handler answers the Task states of the node machine.
type Handler struct {
	Config
	Reader  *Reader
	lines   lines
	waiting waiting
}

// NewHandler makes a Handler.
func NewHandler(cfg Config) *Handler {
	r := &Reader{
		store: cfg.Store, steps: map[string]step.Type{}, types: cfg.Types, mail: cfg.Mail, now: cfg.Now, calendar: calendar.New(cfg.Store.Entities), grants: grants.New(cfg.Store.Entities), policies: cfg.Policies,
		plans: &plans{stored: cfg.Store.Executions, limit: 128, known: map[string]*plan.Plan{}},
	}
	for _, t := range cfg.Steps {
		r.steps[t.Name] = t
		if t.Meets {
			r.meets = append(r.meets, t.Name)
		}
		if t.Holds {
			r.holds = append(r.holds, t.Name)
		}
	}
	w := waiting{cfg.Runner}
	h := &Handler{
		Config: cfg, Reader: r, waiting: w,
		lines: lines{turns: cfg.Store.Turns, executions: cfg.Store.Executions, plans: r.plans, waiting: w},
	}
	if h.Log == nil {
		h.Log = slog.New(slog.DiscardHandler)
	}
	if h.Changed == nil {
		h.Changed = func(string) {}
	}
	return h
}

// Call is what a Task state of the node machine sends.
type Call struct {
	Op        string          `json:"op"` // advance, await or break
	Execution string          `json:"execution"`
	Node      plan.NodeID     `json:"node"`
	Run       string          `json:"run"` // the machine run's name; empty in an await of a run that asks after each wait
	After     At              `json:"after"`
	At        At              `json:"at"`
	Event     json.RawMessage `json:"event"`
	Token     string          `json:"token"`
}

// Answer is what the node machine reads of an advance, and of the end of a wait.
type Answer struct {
	Do               Do      `json:"do"`
	At               At      `json:"at"`
	TimeoutSeconds   int64   `json:"timeoutSeconds"`
	HeartbeatSeconds int64   `json:"heartbeatSeconds"` // always below TimeoutSeconds, as Step Functions wants it
	Children         []Child `json:"children"`
	MaxConcurrency   int     `json:"maxConcurrency"` // 0: all at once
}

// Child is a node that gets a machine run of its own, under this name.
type Child struct {
	Node plan.NodeID `json:"node"`
	Name string      `json:"name"`
}

// Handle answers one invocation. Every op may be delivered twice.
func (h *Handler) Handle(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var c Call
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, fmt.Errorf("decode the state machine's call: %w", err)
	}
	var answer any = struct{}{}
	var err error
	switch c.Op {
	case "advance":
		answer, err = h.advance(ctx, c)
	case "await":
		err = h.await(ctx, c)
	case "break":
		err = h.broken(ctx, c)
	default:
		err = fault.New(fault.Invalid, "op is %q; want advance, await or break", c.Op)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s of execution %s: %w", c.Op, c.Node, c.Execution, err)
	}
	return json.Marshal(answer)
}

// maxRaces bounds how often a decision is made again because somebody else
// changed what it was made from.
const maxRaces = 20

// advance answers the machine run that asks what comes next.
func (h *Handler) advance(ctx context.Context, c Call) (Answer, error) {
	q := question{execution: c.Execution, node: c.Node, part: partOfRun(c), after: c.After, failure: machineError(c.Event)}
	return h.decide(ctx, q, func() (*snapshot, error) { return h.Reader.snapshot(ctx, c.Execution) })
}

// question is what a decision answers: what comes next in the machine run of a
// part of a node.
type question struct {
	execution string
	node      plan.NodeID
	part      int
	after     At // what the run waited for
	failure   *MachineError
	ends      bool // whoever ends that wait asks, not the run, which still waits
}

// decide answers a question from what is stored, and writes the answer down.
// If somebody else changes a state meanwhile, it begins again.
func (h *Handler) decide(ctx context.Context, q question, read func() (*snapshot, error)) (Answer, error) {
	full, stuffed := false, false
	for range maxRaces {
		snap, err := read()
		if err != nil {
			return Answer{}, err
		}
		snap.full, snap.ends = full, q.ends
		a, err := h.decideOnce(ctx, snap, q, stuffed)
		switch {
		case errors.Is(err, errFull) && !full:
			full = true
		case errors.Is(err, errStuffed) && !stuffed:
			stuffed = true
		case !fault.Is(err, fault.StaleVersion):
			return a, err
		}
	}
	return Answer{}, fmt.Errorf("lost the race for its states %d times", maxRaces)
}

func (h *Handler) decideOnce(ctx context.Context, snap *snapshot, q question, stuffed bool) (Answer, error) {
	if snap.plan.Node(q.node) == nil {
		return Answer{}, fault.New(fault.NotFound, "the plan has no node %s", q.node)
	}
	if q.node == snap.plan.Root.ID {
		if err := h.inherit(ctx, snap); err != nil {
			return Answer{}, err
		}
	}
	snap.prefetch(q.node, q.after.Node)
	waited := snap.state(q.after.Node)
	if q.ends && snap.err == nil && !waits(waited, q.after) {
		return Answer{}, errDecided
	}
	d := Next(Input{
		Plan: snap.plan, Node: q.node, Part: q.part, Now: h.Now(),
		Aborted: snap.execution.Interrupt == store.InterruptAbort, Paused: snap.execution.Interrupt == store.InterruptPause, Stuffed: stuffed,
		After: q.after, Failure: q.failure, Window: h.Windows,
		State: snap.state, Task: snap.task, Condition: snap.condition, Timeout: snap.timeout, Patience: snap.patience, Loop: snap.loop, Choose: snap.choose, Frozen: snap.frozen, Enforced: snap.enforced,
		Undoes: snap.execution.RollbackOf != "", Meets: h.Reader.meets,
		Gated: len(h.Limits.gates(snap.execution)) > 0, Deploys: func(n *plan.Node) bool { return h.Reader.steps[n.Type].Deploys },
	})
	if snap.err != nil {
		return Answer{}, snap.err
	}
	d.leaveToken(q, waited.Token)
	again, err := h.carryOut(ctx, snap, d)
	if err != nil {
		return Answer{}, err
	}
	if again {
		return Answer{}, store.Stale("a task", 0)
	}
	return answerOf(q.execution, d), nil
}

// carryOut does what was decided: first what can't be undone but may be
// repeated (cancelling), then the commit. again says that a task that was to
// be cancelled has ended by itself, so that the decision must be made anew.
func (h *Handler) carryOut(ctx context.Context, snap *snapshot, d Decision) (again bool, err error) {
	for _, at := range d.Cancel {
		t, err := h.cancel(ctx, TaskID(snap.execution.ID, at.Node, at.Attempt, at.Look))
		if err != nil {
			return false, err
		}
		if t.Status == store.TaskDone && !snap.saw(at) {
			return true, nil
		}
	}
	for _, id := range d.Stop {
		if err := h.stopChild(ctx, id); err != nil {
			return false, err
		}
	}
	for _, l := range d.Approved {
		if err := h.rejectOlder(ctx, snap.execution, l); err != nil {
			return false, err
		}
	}
	if d.Abort {
		if err := h.abort(ctx, snap.execution.ID, "failure strategy"); err != nil {
			return false, err
		}
		if snap.execution.Interrupt != store.InterruptAbort {
			// Decide again, with the interrupt set.
			return true, h.commit(ctx, snap, d.reason(snap.plan, snap.state))
		}
	}
	for _, f := range d.Frozen {
		if err := h.Store.AppendAuditOnce(ctx, f.record(snap.execution, h.Now()), f.key(snap.execution), h.Now().Add(maxTimeout)); err != nil {
			return false, err
		}
	}
	if err := h.say(ctx, snap.said...); err != nil {
		return false, err
	}
	if err := h.commit(ctx, snap, d.Writes); err != nil {
		return false, err
	}
	for _, l := range d.Leave {
		if err := h.lines.leave(ctx, snap.execution.ID, l, 1); err != nil {
			return false, err
		}
	}
	return false, nil
}

// reason is what is written before a decision to abort is made again: the node
// that failed and whose strategy aborts. If it was only about to begin, it
// wouldn't any more, so that nobody learnt why. A step that had begun is left
// out: it tells its failure by itself, and may have to leave a queue.
func (d Decision) reason(p *plan.Plan, stored func(plan.NodeID) plan.State) []Write {
	return slices.DeleteFunc(slices.Clone(d.Writes), func(w Write) bool {
		n := p.Node(w.Node)
		around := slices.ContainsFunc(d.Writes, func(in Write) bool { return in.Node != w.Node && below(p.Node(in.Node), n) })
		return around || w.State.Status != plan.Aborted || n.Kind == plan.KindStep && !notStarted(stored(n.ID).Status)
	})
}

// maxNodes is how many nodes one commit may change (store.Commit).
const maxNodes = 90

// commit writes the new states, members before their container, in one
// transaction where they fit, and the execution's end with the root's.
func (h *Handler) commit(ctx context.Context, snap *snapshot, writes []Write) error {
	for len(writes) > 0 {
		part := writes[:min(len(writes), maxNodes)]
		writes = writes[len(part):]
		c := store.Commit{Parent: snap.execution.Parent.Execution}
		var err error
		if c.Opens, err = h.Reader.opening(ctx, snap, part); err != nil {
			return err
		}
		for _, w := range part {
			n := snap.node(w.Node, w.State)
			c.Nodes = append(c.Nodes, n)
			c.Waits.Moved(snap.nodes[w.Node].State, n.State)
			if w.Node == snap.plan.Root.ID {
				c.Execution = snap.moved(w.State)
			}
		}
		c.Keeps = snap.keeping(part)
		err = h.Store.CommitExecution(ctx, snap.execution.ID, c)
		if errors.Is(err, store.ErrStuffed) {
			return errors.Join(errStuffed, err)
		}
		if c.Opens.Nodes > 0 && fault.Is(err, fault.TooLarge) {
			return errors.Join(errFull, err)
		}
		if err != nil {
			return err
		}
		if c.Parent != "" && c.Waits.Above() != (store.Waits{}) {
			h.Changed(c.Parent)
		}
		snap.committed(c)
		if err := h.endTurns(ctx, snap, part); err != nil {
			return err
		}
		if err := h.meet(ctx, snap, part); err != nil {
			return err
		}
		if err := h.sweep(ctx, snap, part); err != nil {
			return err
		}
		if c.Execution != nil {
			if err := h.tellParent(ctx, *c.Execution); err != nil {
				return err
			}
		}
		for _, w := range part {
			if w.State.Status.Terminal() {
				h.Trace.Ended(ctx, snap.execution, snap.plan.Node(w.Node), w.State)
			}
		}
	}
	h.Changed(snap.execution.ID)
	return nil
}

func answerOf(execution string, d Decision) Answer {
	a := Answer{Do: d.Do, At: d.At, Children: []Child{}, MaxConcurrency: d.MaxConcurrency}
	for _, r := range d.Children {
		name := statemachine.RunName(execution, string(r.Node))
		if r.Part > 0 {
			name += "-" + strconv.Itoa(r.Part)
		}
		a.Children = append(a.Children, Child{Node: r.Node, Name: name})
	}
	if d.Do == DoAwait {
		wake := seconds(d.Wake)
		a.HeartbeatSeconds = wake
		if d.Beat > 0 {
			a.HeartbeatSeconds = min(wake, seconds(d.Beat))
		}
		a.TimeoutSeconds = max(wake, a.HeartbeatSeconds+1)
	}
	return a
}

// partOfRun is the part of its node that a machine run drives, by its name.
func partOfRun(c Call) int {
	suffix, ok := strings.CutPrefix(c.Run, statemachine.RunName(c.Execution, string(c.Node))+"-")
	part, err := strconv.Atoi(suffix)
	if !ok || err != nil {
		return 0
	}
	return part
}

// maxSeconds is the longest time that Step Functions accepts.
const maxSeconds = 99999999

// seconds rounds up to whole seconds, as Step Functions counts.
func seconds(d time.Duration) int64 {
	return max(1, min(int64(math.Ceil(d.Seconds())), maxSeconds-1))
}

// machineError reads an error that the node machine caught. The ends of waits
// are none: the stored facts say what they mean.
func machineError(event json.RawMessage) *MachineError {
	var e MachineError
	if json.Unmarshal(event, &e) != nil || e.Error == "" {
		return nil
	}
	switch e.Error {
	case "States.Timeout", "States.HeartbeatTimeout", Interrupted:
		return nil
	}
	return &e
}

// The errors with which a wait is ended: its run asks again at once, or there
// is nothing more to do.
const (
	Interrupted = "Slipway.Interrupted"
	Done        = "Slipway.Done"
)
