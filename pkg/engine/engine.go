// Package engine is Harness's meaning of a pipeline: which node is next,
// when it is skipped, what a failure leads to, when a stage rolls back and
// how a container ends.
//
// Next decides and Handler does. Next is a pure function of the plan, the
// stored node states and the clock that it is given; Handler reads and writes
// the store and answers the Task states of statemachines/node.asl.json. What
// must be durable in time (order, waits, fan-out) is the state machine's;
// what a step does is pkg/step's.
package engine

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Input is all that a decision depends on.
type Input struct {
	Plan    *plan.Plan
	Node    plan.NodeID // whose machine run asks
	Part    int         // which of the node's machine runs: 0 for the first
	Now     time.Time
	Paused  bool // a person asked to start nothing new
	Undoes  bool // the pipeline begins with its rollback: all has ended well before
	Gated   bool // the pipeline must pass its gates before it begins
	Aborted bool // a person asked to abort the execution
	Stuffed bool // the execution has no room for the outputs that this would keep
	After   At   // what the run waited for before it asked
	Failure *MachineError
	Window  Windows

	// State reads a node's state; the zero State for one without a record.
	State func(plan.NodeID) plan.State
	// Task reads what is known of a step attempt's delegate task.
	Task func(n *plan.Node, attempt, look int) TaskFacts
	// Condition evaluates a condition in a node's context, over the given states.
	Condition func(n *plan.Node, body string, state func(plan.NodeID) plan.State) (bool, error)
	// Loop evaluates a looping strategy likewise; no iterations if its condition is false.
	Loop func(n *plan.Node, state func(plan.NodeID) plan.State) (plan.Iterations, error)
	// Choose finds what a stage that chooses when it starts deploys where.
	Choose func(n *plan.Node, state func(plan.NodeID) plan.State) (*plan.Deployment, error)
	// Frozen says what deployment freezes mean for a stage, or a loop of it, that
	// begins in a state at a time; nil: there are none.
	Frozen func(n *plan.Node, s plan.State, at time.Time) (Frozen, error)
	// Enforced is a good outcome of a step's attempt once its policy sets have been
	// asked about it. It is asked only of a step that has some.
	Enforced func(n *plan.Node, attempt int, o plan.Outcome, state func(plan.NodeID) plan.State) plan.Outcome
	// Meets are the step types whose steps wait for each other: step.Type.Meets.
	Meets []string
	// Deploys says whether a step's type deploys something.
	Deploys func(n *plan.Node) bool
	// Timeout evaluates a node's timeout; 0 means none.
	Timeout func(n *plan.Node, state func(plan.NodeID) plan.State) (time.Duration, error)
	// Patience evaluates how long a stage waits for somebody to run it.
	Patience func(n *plan.Node, state func(plan.NodeID) plan.State) (time.Duration, error)
}

// At is what a machine run waits for: a step's attempt, or its children.
type At struct {
	Node    plan.NodeID `json:"node,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Wait    plan.Wait   `json:"wait,omitempty"`
	Look    int         `json:"look,omitempty"` // plan.State.Look
}

// waitChildren is the Wait of a run that fanned out.
const waitChildren plan.Wait = "children"

// waitUndo is the Wait of a run that fanned out to undo what has ended.
const waitUndo plan.Wait = "undo"

// MachineError is an error that the state machine caught, other than the end
// of a wait: an Await whose function failed for good.
type MachineError struct {
	Error string
	Cause string
}

// Windows are the times that delegates are given (semantics/pipeline §12.3).
type Windows struct {
	Heartbeat time.Duration // without a sign of life for this long, a task is lost
	NoOne     time.Duration // to wait for a delegate to become eligible
	Unclaimed time.Duration // to wait for an eligible delegate to claim
}

// TaskFacts is what is known of a delegate task.
type TaskFacts struct {
	Exists   bool
	Claimed  bool
	Lost     bool // claimed, and the lease has ended
	Refused  bool // cancelled before anybody claimed it
	Looks    bool // it may be done again: step.Type.Looks
	Created  time.Time
	Outcome  *plan.Outcome // the result, if there is one
	Eligible func() (some bool, explanation string)
	Kind     task.Kind
}

// Do says what the machine run does next.
type Do string

// What a machine run can do next; the words of node.asl.json.
const (
	DoAwait    Do = "await"
	DoChildren Do = "children"
	DoDone     Do = "done"
)

// Decision is what to write and what the machine run does next.
type Decision struct {
	Do       Do
	At       At
	Wake     time.Duration // for DoAwait: ask again at the latest then
	Beat     time.Duration // for DoAwait: ask again if the wait gave no sign of life for so long; 0: never
	Children []Run
	// MaxConcurrency is how many Children run at a time; 0: all.
	MaxConcurrency int
	Writes         []Write  // members before their container
	Cancel         []At     // delegate tasks that are no longer wanted
	Leave          []Left   // queues that steps no longer wait in
	Approved       []Left   // lists of approvals that wait, on which older ones are now rejected
	Stop           []string // executions that Pipeline stages no longer wait for
	Abort          bool     // a failure strategy aborts the execution
	Frozen         []Frozen // stages that freezes have been found for, for the audit trail
}

// Run is a machine run of a node. A node that goes on in another run, or is
// run again, has several, by their parts.
type Run struct {
	Node plan.NodeID
	Part int // 0 for the first
}

// Write is a node's new state.
type Write struct {
	Node  plan.NodeID
	State plan.State
}

// Next decides what comes next for the node whose machine run asks.
// Deciding twice from the same states gives the same decision.
func Next(in Input) Decision {
	w := &walk{Input: in, states: states{plan: in.Plan, meets: in.Meets, stored: in.State, dirty: map[plan.NodeID]plan.State{}}}
	n := in.Plan.Node(in.Node)
	loop, waits := n.Parent(), false
	if loop != nil && loop.Kind == plan.KindLoop && notStarted(w.states.get(n.ID).Status) {
		waits = !w.enterIteration(loop, n)
	}
	if !waits {
		w.decide(n)
	}
	for _, id := range w.states.order {
		w.out.Writes = append(w.out.Writes, Write{Node: id, State: w.states.dirty[id]})
	}
	return w.out
}

// decide decides for a node that has begun.
func (w *walk) decide(n *plan.Node) {
	switch n.Kind {
	case plan.KindStep:
		w.lone(n)
	case plan.KindParallel:
		w.parallel(n)
	case plan.KindLoop:
		w.loop(n)
	case plan.KindPipeline, plan.KindStage, plan.KindGroup:
		w.sequence(n)
	}
}

// walk is one decision in the making.
type walk struct {
	Input
	states states
	out    Decision
}

// states are what has become of a plan's nodes: what is stored, with what has
// been decided laid over it.
type states struct {
	plan   *plan.Plan
	meets  []string // Input.Meets
	stored func(plan.NodeID) plan.State
	dirty  map[plan.NodeID]plan.State
	order  []plan.NodeID
}

func (d *states) get(id plan.NodeID) plan.State {
	if s, ok := d.dirty[id]; ok {
		return s
	}
	return d.stored(id)
}

func (d *states) put(id plan.NodeID, s plan.State) {
	if _, ok := d.dirty[id]; !ok {
		d.order = append(d.order, id)
	}
	d.dirty[id] = s
}

// lone decides for a step that has a machine run of its own.
func (w *walk) lone(n *plan.Node) {
	s := w.states.get(n.ID)
	on := At{Node: n.ID, Wait: waitChildren}
	switch part := partOf(n, s); {
	case s.Status.Terminal():
		w.out.Do = DoDone
	case w.After == on:
		w.lost(n) // the run in which it went on
		w.out.Do = DoDone
	case part > w.Part && w.After.Wait == plan.WaitLook:
		w.out.Do, w.out.At, w.out.Children = DoChildren, on, []Run{{Node: n.ID, Part: part}}
	case w.step(n):
		w.out.Do = DoDone
	}
}
