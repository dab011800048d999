package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/dispatch"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// snapshot is what one decision reads of an execution: each record once. The
// first error of the store is kept, because decisions can't fail halfway.
type snapshot struct {
	r         *Reader
	ctx       context.Context
	execution store.Execution
	version   int64 // of the execution, as it was read
	plan      *plan.Plan
	nodes     map[plan.NodeID]store.Node
	tasks     map[task.ID]store.Task // that needn't be read
	results   map[At]bool
	full      bool // the execution has as many nodes as it may have
	freezes   []freeze.Freeze
	dated     bool             // freezes have been read
	ends      bool             // who has ended a wait asks, see question
	said      []store.LogChunk // what policies said of steps
	err       error
}

func (r *Reader) snapshot(ctx context.Context, execution string) (*snapshot, error) {
	e, err := r.store.Execution(ctx, execution)
	if err != nil {
		return nil, err
	}
	p, err := r.plans.read(ctx, e.PlanHash)
	if err != nil {
		return nil, err
	}
	return &snapshot{
		r: r, ctx: ctx, execution: e, version: e.Version, plan: p,
		nodes: map[plan.NodeID]store.Node{}, tasks: map[task.ID]store.Task{}, results: map[At]bool{},
	}, nil
}

// prefetch reads in one round trip what a decision for a node nearly always
// needs: the node, the child that was waited for and the next; at its first
// decision its container, whose time bounds its own.
func (s *snapshot) prefetch(id, after plan.NodeID) {
	n := s.plan.Node(id)
	ids := []plan.NodeID{id}
	if p := n.Parent(); p != nil && (after == "" || after == id || p.Kind == plan.KindLoop) {
		ids = append(ids, p.ID)
		if p.Kind == plan.KindLoop && (p.Loop.SkipQueued || p.Loop.Deploys || s.plan.FailsAll()) {
			s.load(p.ID) // an iteration that starts looks at the others
			ids = append(ids, s.iterations(p)...)
		}
	}
	switch {
	case n.Kind == plan.KindParallel:
		for _, c := range n.Children {
			ids = append(ids, c.ID)
		}
	case n.Kind == plan.KindLoop:
		s.load(ids...)
		ids = s.iterations(n)
	case after != "" && after != id:
		ids = append(ids, after)
		for i, c := range n.Children {
			if c.ID == after && i+1 < len(n.Children) {
				ids = append(ids, n.Children[i+1].ID)
			}
		}
	case len(n.Children) > 0:
		ids = append(ids, n.Children[0].ID)
	}
	s.load(ids...)
	s.load(s.meeting(after)...)
}

// iterations are the ids of a loop's iterations; the loop has been read.
func (s *snapshot) iterations(loop *plan.Node) []plan.NodeID {
	its := s.nodes[loop.ID].State.Iterations
	if its == nil {
		return nil
	}
	ids := make([]plan.NodeID, len(its.List))
	for i, it := range its.List {
		ids[i] = loop.Iteration(it.Postfix)
	}
	return ids
}

func (s *snapshot) load(ids ...plan.NodeID) {
	if len(ids) == 0 {
		return
	}
	found, err := s.r.store.Nodes(s.ctx, s.execution.ID, ids...)
	s.keep(err)
	for _, id := range ids {
		s.nodes[id] = store.Node{Execution: s.execution.ID, ID: id}
	}
	for _, n := range found {
		s.nodes[n.ID] = n
	}
}

func (s *snapshot) keep(err error) {
	if s.err == nil && err != nil {
		s.err = err
	}
}

func (s *snapshot) state(id plan.NodeID) plan.State {
	if id == "" {
		return plan.State{}
	}
	if _, ok := s.nodes[id]; !ok {
		s.load(id)
	}
	return s.nodes[id].State
}

// node is a record with a new state, to be written over the one that was read.
func (s *snapshot) node(id plan.NodeID, state plan.State) store.Node {
	if _, ok := s.nodes[id]; !ok {
		s.load(id)
	}
	n := s.nodes[id]
	n.State = state
	return n
}

// moved is the execution's record when its root has the given state and the
// record must tell of it: it has ended, it is queued, or it no longer is. nil
// while it runs on.
func (s *snapshot) moved(root plan.State) *store.Execution {
	e := s.execution
	queued := root.Status == plan.QueuedConcurrency
	switch {
	case root.Status.Terminal() || queued && e.Status != root.Status:
		e.Status, e.EndedAt, e.Message = root.Status, root.EndedAt, root.Message
	case !queued && e.Status == plan.QueuedConcurrency:
		e.Status, e.Message = plan.Running, ""
	default:
		return nil
	}
	return &e
}

// committed moves the versions on after a commit, for the next part of it.
func (s *snapshot) committed(c store.Commit) {
	for _, n := range c.Nodes {
		n.Version++
		s.nodes[n.ID] = n
	}
	if c.Execution != nil {
		s.execution = *c.Execution
		s.execution.Version++
		s.version = s.execution.Version // nobody else has changed it
	}
}

// task reads the facts of an attempt's delegate task.
func (s *snapshot) task(n *plan.Node, attempt, look int) TaskFacts {
	id := TaskID(s.execution.ID, n.ID, attempt, look)
	t, known := s.tasks[id]
	var err error
	if !known {
		t, err = s.r.store.Task(s.ctx, id)
	}
	if fault.Is(err, fault.NotFound) {
		return TaskFacts{}
	}
	s.keep(err)
	now := s.r.now()
	// A decision cancels a task before it is written down. Made again because
	// that was cut off, it must come to the same.
	cancelled := t.Status == store.TaskCancelled
	claimed := t.Status == store.TaskClaimed || cancelled && t.Delegate != ""
	f := TaskFacts{
		Exists: true, Created: t.CreatedAt, Kind: t.Kind, Looks: s.r.steps[n.Type].Looks,
		Claimed:  claimed,
		Lost:     claimed && !now.Before(t.LeaseUntil),
		Refused:  cancelled && !claimed,
		Eligible: func() (bool, string) { return s.eligible(t, now) },
	}
	if t.Status == store.TaskDone {
		o := s.finish(n, *t.Result)
		f.Outcome = &o
		s.results[At{Node: n.ID, Attempt: attempt, Look: look}] = true
	}
	return f
}

// saw says whether the decision was made knowing the attempt's result.
func (s *snapshot) saw(at At) bool {
	return s.results[At{Node: at.Node, Attempt: at.Attempt, Look: at.Look}]
}

// remembered is how long a delegate that has gone silent is told of in
// explanations (semantics/pipeline §12.1).
const remembered = 6 * time.Hour

func (s *snapshot) eligible(t store.Task, now time.Time) (bool, string) {
	delegates, err := s.r.store.ListDelegates(s.ctx, t.Scope.Account, now.Add(-remembered))
	s.keep(err)
	for _, d := range delegates {
		if dispatch.Eligible(t, d, now) {
			return true, fmt.Sprintf("no delegate took the task in time, although %s could have", d.Name)
		}
	}
	return false, dispatch.Explain(t, delegates, now)
}

// hopeless says why no delegate could take a task that is to be made, even if
// none had anything else to do; empty if one could, or has.
func (s *snapshot) hopeless(t store.Task) (string, error) {
	if _, err := s.r.store.Task(s.ctx, t.ID); !fault.Is(err, fault.NotFound) {
		return "", err
	}
	now := s.r.now()
	delegates, err := s.r.store.ListDelegates(s.ctx, t.Scope.Account, now.Add(-remembered))
	if err != nil {
		return "", err
	}
	if len(t.Tools) > 0 && dispatch.Untooled(t, delegates, now) == "" {
		return "", nil // who could take it may come
	}
	for _, d := range delegates {
		d.Running = 0
		if dispatch.Eligible(t, d, now) {
			return "", nil
		}
	}
	return dispatch.Explain(t, delegates, now), nil
}

func (s *snapshot) condition(n *plan.Node, body string, state func(plan.NodeID) plan.State) (bool, error) {
	ok, err := s.r.scope(s.ctx, s, n, state).Condition(body)
	if err != nil {
		return false, fault.New(fault.Invalid, "condition %q: %w", body, err)
	}
	return ok, nil
}

func (s *snapshot) loop(n *plan.Node, state func(plan.NodeID) plan.State) (plan.Iterations, error) {
	scope := s.r.scope(s.ctx, s, n, state)
	var found plan.Iterations
	var err error
	if n.Loop.Deploys {
		found, err = Choosing(scope).Expand(s.ctx)
	} else if found, err = scope.Iterations(); err != nil {
		err = fault.New(fault.Invalid, "the looping strategy: %w", err)
	}
	if err == nil {
		err = s.room(n.Opens(len(found.List)))
	}
	return found, err
}

// Choosing is the stage of a scope's node, or the loop around it, that finds what
// it deploys where.
func Choosing(s *resolve.Scope) *target.Stage {
	return &target.Stage{
		Reader: target.Reader{Entities: s.Entities, Scope: s.Execution.Scope, Types: s.Types},
		Plan:   s.Plan, Node: s.Node, Doc: s.Doc(s.Node), State: s.State,
		Names: func(more map[string]expr.Value) expr.Scope { return s.With(more) },
	}
}

func (s *snapshot) choose(n *plan.Node, state func(plan.NodeID) plan.State) (*plan.Deployment, error) {
	return Choosing(s.r.scope(s.ctx, s, n, state)).Choose(s.ctx)
}

// maxTimeout caps every timeout, silently (semantics/pipeline §1.4).
const maxTimeout = 35 * 24 * time.Hour

func (s *snapshot) timeout(n *plan.Node, state func(plan.NodeID) plan.State) (time.Duration, error) {
	if n == s.plan.Root && s.execution.Parent.Execution != "" { // it brings its nodes when it begins
		if err := s.room(s.plan.Nodes()); err != nil {
			return 0, err
		}
	}
	switch {
	case n.Timeout == "" && n.Kind == plan.KindStep:
		return s.r.steps[n.Type].Timeout, nil
	case n.Timeout == "" && (n.Kind == plan.KindPipeline || n.Kind == plan.KindStage):
		return maxTimeout, nil
	case n.Timeout == "":
		return 0, nil
	}
	return s.duration(n, state, "timeout", n.Timeout)
}

func (s *snapshot) patience(n *plan.Node, state func(plan.NodeID) plan.State) (time.Duration, error) {
	return s.duration(n, state, "runMode.timeout", n.Manual)
}

// duration evaluates a timeout; what it is called is for errors.
func (s *snapshot) duration(n *plan.Node, state func(plan.NodeID) plan.State, what, written string) (time.Duration, error) {
	text, err := s.r.scope(s.ctx, s, n, state).Text(written)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%s %q: %w", what, written, err)
	}
	d, err := yamldoc.ParseDuration(text)
	if err != nil {
		return 0, fault.New(fault.Invalid, "%s %q: %w", what, text, err)
	}
	return min(d, maxTimeout), nil
}

// finish makes the outcome of a delegate's result through the step's type.
func (s *snapshot) finish(n *plan.Node, r task.Result) plan.Outcome {
	if s.r.steps[n.Type].Looks && slices.Contains(r.FailureTypes, fault.DelegateRestart) {
		return *lookedInVain()
	}
	return s.r.finish(s, n, 0, r, r.Outputs)
}

// finish makes the outcome of a result, or of an event, of a step's attempt.
// What a delegate put out, and has been sealed, may come as it is.
func (r *Reader) finish(snap *snapshot, n *plan.Node, attempt int, result task.Result, sealed json.RawMessage) plan.Outcome {
	finish := r.steps[n.Type].Finish
	if finish == nil {
		return unforged(step.Outcome(result), sealed)
	}
	spec, in, err := r.decode(snap, n, attempt)
	if err != nil && result.Status != task.Succeeded {
		return step.Outcome(result) // what went wrong is more than that it can't be judged
	}
	if err != nil {
		return failed(err)
	}
	o, err := finish(spec, in, result)
	if err != nil {
		return failed(err)
	}
	return unforged(o, sealed)
}

// unforged refuses an outcome whose outputs refer to a secret, unless they are
// a delegate's, which have been sealed, as they came. A response, an event or
// another execution has no say in which secret the next steps read.
func unforged(o plan.Outcome, sealed json.RawMessage) plan.Outcome {
	if bytes.Equal(o.Outputs, sealed) {
		return o
	}
	if forged, err := plan.NamesSecret(o.Outputs); err != nil || forged {
		return failed(fault.New(fault.Invalid, "the outputs aren't JSON or have a key %s, which no step may write", plan.SecretKey))
	}
	return o
}

// failed is the outcome of a step whose own document is at fault.
func failed(err error) plan.Outcome {
	return plan.Outcome{Status: plan.Failed, Message: err.Error(), Failures: fault.Failures(err)}
}

// TaskID names the task of a step's attempt, or of its look.
func TaskID(execution string, n plan.NodeID, attempt, look int) task.ID {
	id := fmt.Sprintf("%s.%s.%d", execution, shortHash(string(n)), attempt)
	if look > 0 {
		id = fmt.Sprintf("%s.%d", id, look)
	}
	return task.ID(id)
}

func shortHash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// plans are read by their hash, and kept decoded. They never change, so there
// is nothing to invalidate.
type plans struct {
	stored store.Executions
	mu     sync.Mutex
	limit  int
	known  map[string]*plan.Plan
	order  []string // oldest first
}

func (c *plans) read(ctx context.Context, hash string) (*plan.Plan, error) {
	c.mu.Lock()
	p := c.known[hash]
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	doc, err := c.stored.Plan(ctx, hash)
	if err != nil {
		return nil, err
	}
	if p, err = plan.Decode(doc); err != nil {
		return nil, fmt.Errorf("decode plan %s: %w", hash, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[hash] == nil {
		c.known[hash] = p
		if c.order = append(c.order, hash); len(c.order) > c.limit {
			delete(c.known, c.order[0])
			c.order = c.order[1:]
		}
	}
	return c.known[hash], nil
}
