package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A Pipeline stage (semantics/pipeline §1.7) has one step, which starts another
// execution, its child, and waits for its end. The child's id is made of the
// step and its attempt, so that starting it twice starts one. Its end answers
// the step's token; how it ended is read from the child.

// Chained asks for the execution of a chained pipeline.
type Chained struct {
	ID       string // of the execution; the same one is started once
	Parent   store.Holder
	Actor    string          // who started the parent
	Override *store.Override // of freezes, the parent's
	As       *store.Identity // the parent's
	Scope    ref.Scope
	Pipeline string
	Sets     []string      // input sets
	Inputs   *yamldoc.Node // over them; nil: none
}

// chain gives a step its child, which its machine run then starts.
func (h *Handler) chain(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State) error {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", snap.execution.ID, n.ID, s.Attempt))
	s.Wait, s.Child = plan.WaitChild, "x"+hex.EncodeToString(sum[:10])
	return h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// awaitChild starts a step's child, unless it has been, and lets the step go
// on when the child has ended. The token is stored first: a child that ends
// before couldn't answer it.
func (h *Handler) awaitChild(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, token string) (waits bool, err error) {
	if s.Token != token {
		s.Token = token
		if err := h.commit(ctx, snap, []Write{{Node: n.ID, State: s}}); err != nil {
			return false, err
		}
	}
	child, err := h.Store.Execution(ctx, s.Child)
	if fault.Is(err, fault.NotFound) {
		child, err = h.startChild(ctx, snap, n, s)
	}
	switch {
	case snap.err != nil:
		return false, snap.err
	case err != nil && !final(err):
		return false, err
	case err != nil:
		o := failed(err)
		o.Message = fault.Told(err)
		s.Outcome = &o
	case !child.Status.Terminal():
		return true, nil
	default:
		if s.Outcome, err = h.Reader.childOutcome(ctx, n, child); err != nil {
			return false, err
		}
	}
	s.Token = ""
	return false, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// startChild starts a step's child with what the stage's spec says.
func (h *Handler) startChild(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State) (store.Execution, error) {
	scope := h.Reader.scope(ctx, snap, n, snap.state)
	spec, err := scope.Tree(n.Doc.Get("spec"), []string{"outputs"})
	if err != nil {
		return store.Execution{}, err
	}
	if scope.Hidden() {
		return store.Execution{}, fault.New(fault.Invalid, "inputs hold the value of a secret; name the secret where it is used instead")
	}
	report := yamldoc.NewReport("").Resolved()
	chain := entity.ChainOf(spec, report)
	if err := unread(chain.Inputs, "inputs"); err != nil {
		return store.Execution{}, err
	}
	if err := report.Err(); err != nil {
		return store.Execution{}, err
	}
	child, err := h.StartChained(ctx, Chained{
		ID: s.Child, Parent: store.Holder{Execution: snap.execution.ID, Node: n.ID}, Actor: snap.execution.Actor, Override: snap.execution.Override, As: snap.execution.As,
		Scope:    ref.Scope{Account: snap.execution.Scope.Account, Org: chain.Org.Value, Project: chain.Project.Value},
		Pipeline: chain.Pipeline.Value, Inputs: chain.Inputs, Sets: chain.Sets.Value,
	})
	if err != nil {
		return child, err
	}
	// Whoever stopped the step meanwhile found no child to stop.
	now, err := h.Store.Nodes(ctx, snap.execution.ID, n.ID)
	if err == nil && (len(now) == 0 || now[0].State.Child != s.Child || now[0].State.Status.Terminal()) {
		err = h.stopChild(ctx, s.Child)
	}
	return child, err
}

// forDelegates are expressions whose value is the same text again: only a
// delegate puts another in their place.
var forDelegates = regexp.MustCompile(`<\+kubernetes(\.\w+)+>`)

// unread refuses resolved inputs in which a text looks like an expression: the
// child would evaluate it, though it is what an event or an output had in it.
// Who may write that could name a secret.
func unread(n *yamldoc.Node, path string) error {
	switch {
	case n == nil:
		return nil
	case n.Kind == yamldoc.Scalar && strings.Contains(forDelegates.ReplaceAllLiteralString(n.Value, ""), "<+"):
		return fault.New(fault.Invalid, "%s (line %d): its value has <+ in it, and the other pipeline would evaluate that", path, n.Line)
	}
	for _, e := range n.Entries {
		if err := unread(e.Value, path+"."+e.Key); err != nil {
			return err
		}
	}
	for i, item := range n.Items {
		if err := unread(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

// childOutcome is how a step ends whose child has ended: alike, with the
// outputs that the stage asks for.
func (r *Reader) childOutcome(ctx context.Context, n *plan.Node, child store.Execution) (*plan.Outcome, error) {
	o := plan.Outcome{Status: child.Status}
	if child.Status.Good() {
		doc, err := r.childOutputs(ctx, n, child.ID)
		if err != nil && !final(err) {
			return nil, err
		}
		if err != nil {
			o = failed(err)
		}
		o.Outputs = doc
		o = unforged(o, nil)
		return &o, nil
	}
	o.Message = fmt.Sprintf("pipeline %s (execution %s): %s", child.Pipeline, child.ID, child.Message)
	switch child.Status {
	case plan.Expired:
		o.Failures = []fault.FailureType{fault.Timeout}
	case plan.ApprovalRejected:
		o.Failures = []fault.FailureType{fault.ApprovalRejection}
	default:
		o.Failures = []fault.FailureType{fault.Unknown}
	}
	return &o, nil
}

// childOutputs evaluates a stage's outputs in its child's context.
func (r *Reader) childOutputs(ctx context.Context, n *plan.Node, child string) (json.RawMessage, error) {
	chain := entity.StageOf(n.Doc, entity.Options{}).Chain
	if chain == nil || len(chain.Outputs) == 0 {
		return nil, nil
	}
	snap, err := r.snapshot(ctx, child)
	if err != nil {
		return nil, err
	}
	scope := r.scope(ctx, snap, snap.plan.Root, snap.state)
	values := map[string]expr.Value{}
	for _, o := range chain.Outputs {
		v, err := scope.InterpolateWith(o.Value.Text, nil)
		if snap.err != nil {
			return nil, snap.err
		}
		if err != nil {
			return nil, fault.Wrap(err, "output %s", o.Name.Value)
		}
		values[o.Name.Value] = v
	}
	if scope.Hidden() {
		return nil, fault.New(fault.Invalid, "an output holds the value of a secret; outputs can't be secret")
	}
	return json.Marshal(map[string]any{"output": values})
}

// final says whether an error is the fault of what people wrote, or forbade: it
// stays if the same is tried again.
func final(err error) bool {
	return slices.Contains([]fault.Code{
		fault.Invalid, fault.NotFound, fault.Unsupported, fault.UnresolvedExpression, fault.Forbidden, fault.TooLarge,
		fault.PolicyDenied, fault.Frozen,
	}, fault.CodeOf(err))
}

// tellParent lets the step go on that waits for an execution which has ended.
// What is lost between the commit before and this is made up by turnCheck.
func (h *Handler) tellParent(ctx context.Context, e store.Execution) error {
	if e.Parent.Execution == "" || !e.Status.Terminal() {
		return nil
	}
	nodes, err := h.Store.Nodes(ctx, e.Parent.Execution, e.Parent.Node)
	if err != nil || len(nodes) == 0 || nodes[0].State.Child != e.ID || nodes[0].State.Token == "" {
		return err
	}
	return h.waiting.ask(ctx, nodes[0].State.Token, "its execution has ended")
}

// stopChild aborts an execution that nobody waits for any more. One that has
// ended, or hasn't begun, is left as it is.
func (h *Handler) stopChild(ctx context.Context, id string) error {
	e, err := h.Store.Execution(ctx, id)
	if fault.Is(err, fault.NotFound) || err == nil && e.Status.Terminal() {
		return nil
	}
	if err == nil {
		err = h.abort(ctx, id, "its parent stopped waiting")
	}
	if fault.Is(err, fault.Conflict) {
		return nil // it has ended since
	}
	return err
}
