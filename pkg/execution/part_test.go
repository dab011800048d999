package execution

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// watched counts what is read of a store.
type watched struct {
	store.Executions
	store.Tasks
	all, tasks atomic.Int64
}

func (w *watched) AllNodes(ctx context.Context, execution string) ([]store.Node, error) {
	w.all.Add(1)
	return w.Executions.AllNodes(ctx, execution)
}

func (w *watched) Task(ctx context.Context, id task.ID) (store.Task, error) {
	w.tasks.Add(1)
	return w.Tasks.Task(ctx, id)
}

// wide is a running execution x1 with stages of so many steps each, which all
// have a record.
func wide(tb testing.TB, stages, steps int, state plan.State) (*Service, *watched) {
	tb.Helper()
	kept := setup(tb)
	root := &plan.Node{ID: "pipeline", Kind: plan.KindPipeline, Identifier: "p"}
	var nodes []store.Node
	record := func(id plan.NodeID) { nodes = append(nodes, store.Node{Execution: "x1", ID: id, State: state}) }
	record(root.ID)
	for i := range stages {
		stage := &plan.Node{ID: plan.NodeID(fmt.Sprintf("pipeline.stages.s%d", i)), Kind: plan.KindStage, Identifier: fmt.Sprint("s", i)}
		record(stage.ID)
		for k := range steps {
			step := &plan.Node{ID: stage.ID + plan.NodeID(fmt.Sprintf(".spec.execution.steps.a%d", k)), Kind: plan.KindStep, Identifier: fmt.Sprint("a", k)}
			record(step.ID)
			stage.Children = append(stage.Children, step)
		}
		root.Children = append(root.Children, stage)
	}
	doc, err := (&plan.Plan{Root: root}).Encode()
	if err != nil {
		tb.Fatal(err)
	}
	scope := ref.Scope{Account: "acme"}
	e := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", PlanHash: plan.Hash(doc), Status: plan.Running, StartedAt: time.Now()}
	if _, err := kept.CreateExecution(tb.Context(), e, doc, audit.Record{Scope: scope}); err != nil {
		tb.Fatal(err)
	}
	for len(nodes) > 0 {
		some := nodes[:min(90, len(nodes))]
		nodes = nodes[len(some):]
		if err := kept.CommitExecution(tb.Context(), e.ID, store.Commit{Nodes: some}); err != nil {
			tb.Fatal(err)
		}
	}
	w := &watched{Executions: kept.Executions, Tasks: kept.Tasks}
	kept.Executions, kept.Tasks = w, w
	return service(kept, time.Now), w
}

// encoded is an answer as a function gives it back.
func encoded(t *testing.T, v any) int {
	t.Helper()
	n, err := answerSize(v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// list makes a tree of a root and nodes below it, with the given messages.
func list(messages ...string) *TreeNode {
	root := &TreeNode{ID: "pipeline", Status: plan.Running}
	for i, m := range messages {
		root.Children = append(root.Children, &TreeNode{ID: plan.NodeID(fmt.Sprint("pipeline.", i)), Status: plan.Success, Message: m})
	}
	return root
}

func uncompleted(*TreeNode) error { return nil }

func TestAnAnswerHasNodesUpToABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		nodes int // with the root
		want  *Hidden
	}{
		"at the bound": {MaxShown, nil},
		"one past it":  {MaxShown + 1, &Hidden{Nodes: 1, From: MaxShown - 1, Statuses: map[plan.Status]int{plan.Success: 1}}},
	} {
		root := list(make([]string, c.nodes-1)...)
		if err := nodesOf(uncompleted).cut(root, 0, 0); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, root.Hidden); diff != "" {
			t.Errorf("%s, what is hidden (-want +got):\n%s", name, diff)
		}
		if shown := len(root.Children) + 1; shown != MaxShown {
			t.Errorf("%s: %d are shown, want %d", name, shown, MaxShown)
		}
	}
}

// What is measured is what a function gives back: a text within a text.
func TestAnAnswerHasBytesUpToABound(t *testing.T) {
	t.Parallel()
	bad := strings.Repeat("\"<\\", 10_000)
	one := encoded(t, list(bad).Children[0]) + aroundNode
	root := encoded(t, list()) + aroundNode
	for name, c := range map[string]struct {
		room   int
		hidden int
	}{
		"at the bound": {root + 5*one, 0},
		"a byte less":  {root + 5*one - 1, 1},
	} {
		tree := list(bad, bad, bad, bad, bad)
		if err := nodesOf(uncompleted).cut(tree, 0, MaxAnswer-c.room); err != nil {
			t.Fatal(err)
		}
		if got := 5 - len(tree.Children); got != c.hidden || encoded(t, tree) > c.room {
			t.Errorf("%s: %d are hidden, and the answer has %d bytes; want %d, and at most %d", name, got, encoded(t, tree), c.hidden, c.room)
		}
	}
}

// However little room there is, whoever asks for the rest comes to its end, and
// sees each node once.
func TestTheRestOfATreeCanBeAskedFor(t *testing.T) {
	t.Parallel()
	const stages, steps = 30, 120
	s, _ := wide(t, stages, steps, plan.State{Status: plan.Success})
	seen := map[plan.NodeID]int{}
	answers := 0
	var ask func(part Part)
	ask = func(part Part) {
		tree, err := s.Describe(t.Context(), "x1", part)
		if err != nil {
			t.Fatal(err)
		}
		answers++
		var walk func(n *TreeNode, again bool)
		walk = func(n *TreeNode, again bool) {
			if !again {
				seen[n.ID]++
			}
			for _, c := range n.Children {
				walk(c, false)
			}
			if n.Hidden != nil {
				ask(Part{Node: string(n.ID), From: n.Hidden.From})
			}
		}
		walk(tree.Root, part.Node != "")
	}
	ask(Part{})
	if want := 1 + stages*(1+steps); len(seen) != want || answers < 2 {
		t.Errorf("saw %d nodes in %d answers; want %d in several", len(seen), answers, want)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("saw %s %d times", id, n)
		}
	}
}

// The largest execution that there may be: its answer has a bound, shows all
// stages before the steps of any, and asks for the tasks of steps alone that it
// shows.
func TestTheLargestExecutionIsShownInPart(t *testing.T) {
	t.Parallel()
	const stages, steps = 100, 199
	s, reads := wide(t, stages, steps, plan.State{Status: plan.Running, Attempt: 1, Message: strings.Repeat("m", 1000)})
	tree, err := s.Describe(t.Context(), "x1", Part{})
	if err != nil {
		t.Fatal(err)
	}
	nodes, hidden := 0, 0
	nodesOf(nil).count([]*TreeNode{tree.Root}, func(n *TreeNode) {
		nodes++
		if n.Hidden != nil {
			hidden += n.Hidden.Nodes
			if n.Hidden.Statuses[plan.Running] != n.Hidden.Nodes {
				t.Errorf("of %s %d are hidden, with the statuses %v", n.ID, n.Hidden.Nodes, n.Hidden.Statuses)
			}
		}
	})
	if size := encoded(t, tree.Root); nodes > MaxShown || nodes+hidden != 1+stages*(1+steps) || nodes+hidden < extent.MaxNodes-1 || size > MaxAnswer {
		t.Errorf("%d nodes are shown in %d bytes, and %d are hidden", nodes, size, hidden)
	}
	if len(tree.Root.Children) != stages {
		t.Errorf("%d stages are shown, want all %d", len(tree.Root.Children), stages)
	}
	if n := reads.tasks.Load(); n > MaxShown {
		t.Errorf("%d tasks were read", n)
	}
	last, err := s.Describe(t.Context(), "x1", Part{Status: []plan.Status{plan.Failed}})
	if err != nil || len(last.Root.Children) != 0 || last.Root.Hidden != nil {
		t.Errorf("those that failed are %+v, %v; want none but the root", last.Root, err)
	}
}

func TestANodeIsFoundByItsIDWithoutTheOthers(t *testing.T) {
	t.Parallel()
	s, reads := wide(t, 2, 2, plan.State{Status: plan.Running, Attempt: 3})
	const id = "pipeline.stages.s1.spec.execution.steps.a0"
	n, err := s.FindNode(t.Context(), "x1", id)
	if err != nil || string(n.ID) != id || n.Attempt != 3 || reads.all.Load() != 0 {
		t.Errorf("found %+v, %v, with %d reads of all nodes; want the node, and none", n, err, reads.all.Load())
	}
	if n, err = s.FindNode(t.Context(), "x1", "s1"); err != nil || n.Identifier != "s1" {
		t.Errorf("by its identifier: %+v, %v", n, err)
	}
	if _, err = s.FindNode(t.Context(), "x1", "a0"); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), id) {
		t.Errorf("by an identifier that two have: %v; want both named", err)
	}
	if _, err = s.FindNode(t.Context(), "x1", "zz"); !fault.Is(err, fault.NotFound) {
		t.Errorf("one that there isn't: %v", err)
	}
}
