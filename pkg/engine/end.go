package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/statemachine"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Who brings what a wait is for (a task's result, a person's answer) decides
// what comes next, and answers the wait with it: the machine run goes from one
// wait to the next without asking. Who has other things to do (an abort, what
// leaves a queue or opens a barrier, a child that ends) has the run ask: it may
// wake many, and what they find is theirs to decide.
//
// A decision is written down before the wait is answered. If the answer is lost
// between the two, whoever repeats the end, the wait's own time or a missing
// heartbeat has the run ask, and it hears the same decision.

// ended is a wait that has ended: what it was for has come.
type ended struct {
	execution string
	at        At
	token     string      // as it is kept
	task      *store.Task // what came, if it is a task's result
	snap      *snapshot   // of what its Await has just written, if that ends it
}

// EndTask ends the wait for a task that is done: it decides what comes next and
// answers the wait with it. If that can't be decided here, the machine run asks.
// The same wait may be ended any number of times; one that has been decided on
// is only told to ask again.
func (h *Handler) EndTask(ctx context.Context, t store.Task) error {
	ctx, done := unhurried(ctx)
	defer done()
	return h.end(ctx, ended{execution: t.Execution, at: At{Node: t.Node, Attempt: t.Attempt, Wait: plan.WaitWork, Look: t.Look}, token: t.Token, task: &t})
}

// EndNode does so with the wait of a node whose state has the answer to it.
// Without a token the wait has yet to begin, and then finds the answer.
func (h *Handler) EndNode(ctx context.Context, n store.Node) error {
	if n.State.Token == "" {
		return nil
	}
	ctx, done := unhurried(ctx)
	defer done()
	return h.end(ctx, ended{execution: n.Execution, at: at(n.ID, n.State), token: n.State.Token})
}

// unhurried is a context that doesn't end with who called: what a decision
// brings about isn't left half done because a client has hung up.
func unhurried(ctx context.Context) (context.Context, context.CancelFunc) {
	own := context.WithoutCancel(ctx)
	if end, ok := ctx.Deadline(); ok {
		return context.WithDeadline(own, end)
	}
	return own, func() {}
}

// AskAfter has the machine run ask that waits for a task which is done: for
// those who end many, or something else besides.
func (h *Handler) AskAfter(ctx context.Context, t store.Task) error {
	return h.waiting.ask(ctx, t.Token, "its task is done")
}

// EndAgain makes up for an end of a node's wait that was cut short: before the
// decision or after it.
func (h *Handler) EndAgain(ctx context.Context, n store.Node) error {
	switch s := n.State; {
	case s.Left != "":
		return h.waiting.ask(ctx, s.Left, "it was decided before")
	case !s.Status.Terminal() && Answered(s):
		return h.EndNode(ctx, n)
	}
	return nil
}

// afterwards bounds having the machine run ask, in case that deciding has taken
// all the time that there was.
const afterwards = 5 * time.Second

// end ends a wait.
func (h *Handler) end(ctx context.Context, w ended) error {
	token, part, decides := cutToken(w.token)
	if !decides {
		return h.waiting.ask(ctx, w.token, "")
	}
	a, err := h.after(ctx, w, part)
	switch {
	case errors.Is(err, errDecided):
		return h.waiting.ask(ctx, w.token, "it was decided before")
	case err != nil:
		h.Log.WarnContext(ctx, "can't decide at the end of a wait; the state machine asks", "execution", w.execution, "node", w.at.Node, "error", err)
		own, stop := context.WithTimeout(context.WithoutCancel(ctx), afterwards)
		defer stop()
		return h.waiting.ask(own, w.token, "it couldn't be decided at the end of the wait")
	case a.Do == DoDone:
		return told(h.Runner.Fail(ctx, token, Done, ""))
	case a.Do == DoChildren:
		return h.waiting.ask(ctx, w.token, "for its children")
	}
	answer, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode what comes after a wait: %w", err)
	}
	return told(h.Runner.Succeed(ctx, token, answer))
}

// errDecided says that what comes after a wait has been decided before.
var errDecided = errors.New("what comes after the wait has been decided")

// after decides what comes after a wait. A decision that panics is one that
// can't be made here: where the machine run asks, it ends with its execution.
func (h *Handler) after(ctx context.Context, w ended, part int) (a Answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("deciding panicked: %v\n%s", p, debug.Stack())
		}
	}()
	first := w.snap
	if first == nil {
		if first, err = h.snapshotAt(ctx, w); err != nil {
			return Answer{}, err
		}
	}
	n := first.plan.Node(w.at.Node)
	if n == nil {
		return Answer{}, fault.New(fault.NotFound, "the plan has no node %s", w.at.Node)
	}
	q := question{execution: w.execution, node: driver(n), part: part, after: at(n.ID, first.state(n.ID)), ends: true}
	if w.snap == nil {
		q.after = w.at
	}
	return h.decide(ctx, q, func() (*snapshot, error) {
		if s := first; s != nil {
			first = nil
			return s, nil
		}
		return h.snapshotAt(ctx, w)
	})
}

// snapshotAt is a snapshot at the end of a wait.
func (h *Handler) snapshotAt(ctx context.Context, w ended) (*snapshot, error) {
	s, err := h.Reader.snapshot(ctx, w.execution)
	if err == nil && w.task != nil {
		s.tasks[w.task.ID] = *w.task
	}
	return s, err
}

// driver is the node in whose machine run a node is waited for: a step's is its
// container's, unless it stands beside others.
func driver(n *plan.Node) plan.NodeID {
	p := n.Parent()
	if n.Kind == plan.KindStep && p != nil && p.Kind != plan.KindParallel && p.Kind != plan.KindLoop {
		return p.ID
	}
	return n.ID
}

// at is what the machine run of a node waits for in a state.
func at(id plan.NodeID, s plan.State) At {
	return At{Node: id, Attempt: s.Attempt, Wait: s.Wait, Look: s.Look}
}

// waits says whether a node in a state is still at a wait.
func waits(s plan.State, on At) bool {
	return !s.Status.Terminal() && at(on.Node, s) == on
}

// leaveToken keeps the token of a wait that somebody else ends with what is
// decided about its node: should the answer be lost, who aborts or decides
// again finds it. Once the run itself asks, it is of no use any more.
func (d *Decision) leaveToken(q question, token string) {
	for i := range d.Writes {
		w := &d.Writes[i]
		w.State.Left = ""
		if q.ends && w.Node == q.after.Node {
			w.State.Left = token
		}
	}
}

// waiting are the machine runs that wait.
type waiting struct{ runner statemachine.Runner }

// ask ends a wait so that its machine run asks what comes next.
func (w waiting) ask(ctx context.Context, kept, why string) error {
	token, _, decides := cutToken(kept)
	if !decides { // a run that asks after every wait
		return told(w.runner.Succeed(ctx, token, json.RawMessage(`{"answered":true}`)))
	}
	return told(w.runner.Fail(ctx, token, Interrupted, why))
}

// KeepAlive keeps the wait of a token alive.
func (h *Handler) KeepAlive(ctx context.Context, kept string) error {
	token, _, _ := cutToken(kept)
	return told(h.Runner.Heartbeat(ctx, token))
}

// told takes it as done if a wait that is answered has ended.
func told(err error) error {
	if err != nil && !errors.Is(err, statemachine.ErrGone) {
		return fmt.Errorf("answer the wait: %w", err)
	}
	return nil
}

// kept is an await's token as it is stored: behind the part of the node that
// the machine run drives, which a decision wants to know. A run that began with
// a release in which runs ask after every wait says no name, and its token is
// stored as it came.
func kept(c Call) string {
	if c.Run == "" {
		return c.Token
	}
	return strconv.Itoa(partOfRun(c)) + partMark + c.Token
}

// partMark ends the part before a token. No token has it: those of Step
// Functions are base64, and an embedded run's begin with its name.
const partMark = ":"

// cutToken takes a kept token apart; decides is false for one of a run that
// asks after every wait.
func cutToken(kept string) (token string, part int, decides bool) {
	before, token, found := strings.Cut(kept, partMark)
	part, err := strconv.Atoi(before)
	if !found || err != nil {
		return kept, 0, false
	}
	return token, part, true
}
