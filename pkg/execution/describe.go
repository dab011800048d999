package execution

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Tree is an execution as people see it: its nodes with what has become of them.
type Tree struct {
	Execution store.Execution
	Status    plan.Status // as it is now; while it runs, that of what waits for people wins
	Root      *TreeNode
	Templates []plan.Template // the versions that its plan was made of
}

// TreeNode is a node of the plan with its state. Nodes that haven't started
// are NotStarted.
type TreeNode struct {
	ID         plan.NodeID    `json:"id"`
	Kind       plan.Kind      `json:"kind"`
	Identifier string         `json:"identifier,omitempty"`
	Name       string         `json:"name,omitempty"`
	Type       string         `json:"type,omitempty"`
	Rollback   bool           `json:"rollback,omitempty"`   // in rollbackSteps
	Provisions bool           `json:"provisions,omitempty"` // in its stage's provisioner section, see plan.Node
	Status     plan.Status    `json:"status"`
	Message    string         `json:"message,omitempty"`
	StartedAt  time.Time      `json:"startedAt,omitzero"`
	EndedAt    time.Time      `json:"endedAt,omitzero"`
	Attempt    int            `json:"attempt,omitempty"`
	LogStream  string         `json:"logStream,omitempty"`
	Approval   *plan.Approval `json:"approval,omitempty"`
	Decided    *plan.Decided  `json:"decided,omitempty"` // a person's last decision
	Child      string         `json:"child,omitempty"`   // the execution that a Pipeline stage has started
	// Asks are the inputs that it waits for, by their paths in the node.
	Asks     []input.Question `json:"asks,omitempty"`
	Children []*TreeNode      `json:"children,omitempty"`
	Hidden   *Hidden          `json:"hidden,omitempty" doc:"Nodes below it that the answer has no room for"`
}

// Describe reads an execution with as many of the wanted nodes as an answer
// has room for.
func (s *Service) Describe(ctx context.Context, id string, part Part) (Tree, error) {
	return s.describe(ctx, id, part, s.states)
}

// states reads what has become of an execution's nodes.
func (s *Service) states(ctx context.Context, id string) (map[plan.NodeID]plan.State, error) {
	nodes, err := s.Store.AllNodes(ctx, id)
	return store.States(nodes), err
}

// reading gives what has become of an execution's nodes.
type reading func(ctx context.Context, id string) (map[plan.NodeID]plan.State, error)

func (s *Service) describe(ctx context.Context, id string, part Part, read reading) (Tree, error) {
	t, err := s.whole(ctx, id, read)
	if err != nil {
		return Tree{}, err
	}
	if len(part.Status) > 0 {
		only(t.Root, part.Status)
	}
	if part.taken, err = answerSize(struct {
		Inputs    json.RawMessage
		Templates []plan.Template
	}{t.Execution.Inputs, t.Templates}); err != nil {
		return Tree{}, err
	}
	mark := func(n *TreeNode) error { return s.markWaiting(ctx, id, n) }
	t.Root, err = nodesOf(mark).part(t.Root, "execution "+id, part)
	return t, err
}

// whole reads an execution with all its nodes.
func (s *Service) whole(ctx context.Context, id string, read reading) (Tree, error) {
	e, err := s.Store.Execution(ctx, id)
	if err != nil {
		return Tree{}, err
	}
	p, err := s.Engine.Reader.Plan(ctx, e.PlanHash)
	if err != nil {
		return Tree{}, err
	}
	states, err := read(ctx, id)
	if err != nil {
		return Tree{}, err
	}
	t := Tree{Execution: e, Status: e.Status, Root: treeOf(id, p, p.Root, states), Templates: p.Templates}
	if e.Status.Terminal() {
		return t, nil
	}
	if err := s.mirror(ctx, t.Root); err != nil {
		return Tree{}, err
	}
	t.Status = liveStatus(t.Root)
	if e.Interrupt == store.InterruptPause {
		t.Status = plan.Paused
		if stepRuns(t.Root) {
			t.Status = plan.Pausing
		}
	}
	return t, nil
}

// markWaiting shows a running step whose task no delegate has taken as
// TaskWaiting. It is read off the task rather than written to the node, which
// would cost every step a write that only lookers-on need.
func (s *Service) markWaiting(ctx context.Context, execution string, n *TreeNode) error {
	if n.Kind != plan.KindStep || n.Status != plan.Running {
		return nil
	}
	t, err := s.Store.Task(ctx, engine.TaskID(execution, n.ID, n.Attempt, 0))
	switch {
	case fault.Is(err, fault.NotFound): // not begun, or it needs no delegate
	case err != nil:
		return err
	case t.Status == store.TaskOpen:
		n.Status = plan.TaskWaiting
	}
	return nil
}

// mirror shows the steps of Pipeline stages as what the executions wait for
// that they have started (semantics/pipeline §1.7). The parent's record
// doesn't say: only lookers-on want to know.
func (s *Service) mirror(ctx context.Context, n *TreeNode) error {
	for _, c := range n.Children {
		if err := s.mirror(ctx, c); err != nil {
			return err
		}
	}
	if n.Child == "" || n.Status != plan.Running {
		return nil
	}
	child, err := s.whole(ctx, n.Child, s.states)
	if fault.Is(err, fault.NotFound) { // it is about to start
		return nil
	}
	if err == nil && (waits(child.Status) > 0 || child.Status == plan.Paused) {
		n.Status, n.Message = child.Status, "execution "+n.Child+" waits"
	}
	return err
}

func treeOf(execution string, p *plan.Plan, n *plan.Node, states map[plan.NodeID]plan.State) *TreeNode {
	st := states[n.ID]
	t := nodeOf(execution, n, st)
	for _, c := range slices.Concat(p.Children(n, st), n.Rollback) {
		t.Children = append(t.Children, treeOf(execution, p, c, states))
	}
	if n.Kind == plan.KindLoop {
		for i, c := range t.Children {
			c.Name = st.Iterations.List[i].Name
		}
	}
	return t
}

// nodeOf is a node without its children.
func nodeOf(execution string, n *plan.Node, st plan.State) *TreeNode {
	t := &TreeNode{
		ID: n.ID, Kind: n.Kind, Identifier: n.Identifier, Name: n.Name, Type: n.Type, Rollback: n.InRollback(), Provisions: n.Provisions,
		Status: st.Status, Message: st.Message, StartedAt: st.StartedAt, EndedAt: st.EndedAt, Attempt: st.Attempt, Approval: asked(st.Approval), Decided: st.Decided, Child: st.Child,
	}
	if t.Status == "" {
		t.Status = plan.NotStarted
	}
	if st.Status == plan.InputWaiting && !st.Answered {
		for _, r := range input.Asked(n.Doc) {
			t.Asks = append(t.Asks, r.Question())
		}
	}
	if st.Attempt > 0 {
		t.LogStream = engine.LogStream(execution, n.ID, st.Attempt)
	}
	return t
}

// asked is an approval as people see it: without the attestations, which are long.
func asked(a *plan.Approval) *plan.Approval {
	if a == nil || !slices.ContainsFunc(a.Activities, func(x plan.ApprovalActivity) bool { return x.Attestation != nil }) {
		return a
	}
	out := *a
	out.Activities = slices.Clone(a.Activities)
	for i := range out.Activities {
		out.Activities[i].Attestation = nil
	}
	return &out
}

// stepRuns says whether a step has begun and not ended.
func stepRuns(n *TreeNode) bool {
	if n.Kind == plan.KindStep && n.Attempt > 0 && !n.Status.Terminal() {
		return true
	}
	return slices.ContainsFunc(n.Children, stepRuns)
}

// liveStatus is what a running execution waits for (semantics/pipeline §8.2).
func liveStatus(n *TreeNode) plan.Status {
	first := plan.Running
	if waits(n.Status) > 0 {
		first = n.Status
	}
	for _, c := range n.Children {
		if st := liveStatus(c); waits(st) > waits(first) {
			first = st
		}
	}
	return first
}

// waits is the rank of a status among those that wait; 0 for others.
func waits(s plan.Status) int {
	ranks := []plan.Status{plan.QueuedConcurrency, plan.ResourceWaiting, plan.InputWaiting, plan.ApprovalWaiting, plan.InterventionWaiting}
	return slices.Index(ranks, s) + 1
}
