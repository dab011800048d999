package engine

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

var (
	trees = flag.Int("trees", 20_000, "how many random trees are compared with the model")
	first = flag.Int("first-tree", 0, "the number of the first one")
)

// TestEngineMeansWhatTheModelMeans runs random trees of all kinds of nodes
// with random outcomes, conditions and strategies on the engine and on the
// model: every node must end the same way.
func TestEngineMeansWhatTheModelMeans(t *testing.T) {
	t.Parallel()
	for i := *first; i < *first+*trees; i++ {
		g := &grower{Rand: rand.New(rand.NewPCG(uint64(i), 1)), loops: map[string]any{}, script: map[string][]any{}}
		s := newSim(t, g.pipeline())
		s.loops, s.script = g.loops, g.script
		m := &model{
			plan: s.plan, loops: g.loops, script: g.script, tries: map[plan.NodeID]int{},
			ends: map[plan.NodeID]plan.Status{}, undone: map[plan.NodeID]bool{}, unbegun: map[plan.NodeID]bool{},
		}
		m.pipeline()
		s.run(s.plan.Root.ID)
		got := map[plan.NodeID]plan.Status{}
		for id, st := range s.states {
			if st.Status != plan.NotStarted {
				got[id] = st.Status
			}
		}
		if diff := cmp.Diff(m.ends, got); diff != "" {
			t.Fatalf("tree %d (-model +engine):\n%s\nthe tree:\n%s\nthe script: %v\nthe loops: %v", i, diff, outlineOf(s.plan.Root, ""), g.script, g.loops)
		}
	}
}

// grower makes random trees.
type grower struct {
	*rand.Rand
	loops  map[string]any
	script map[string][]any
	count  int
}

func (g *grower) often(percent int) bool { return g.IntN(100) < percent }

func (g *grower) name(kind string) string {
	g.count++
	return fmt.Sprintf("%s%d", kind, g.count)
}

func (g *grower) pipeline() *plan.Node {
	var stages []*plan.Node
	for range 1 + g.IntN(3) {
		if g.often(20) {
			stages = append(stages, &plan.Node{Kind: plan.KindParallel, Identifier: g.name("block"), Children: []*plan.Node{g.stage(), g.stage()}})
		} else {
			stages = append(stages, g.stage())
		}
	}
	return pipeline(stages...)
}

func (g *grower) stage() *plan.Node {
	n := stage(g.name("stage"))
	var own plan.Levels
	if g.often(60) {
		own = plan.Levels{g.strategies(0, false)}
	}
	n.Strategies = own
	n.Children = g.steps(own, 0, false)
	if g.often(60) {
		n.Rollback = g.steps(nil, 0, true)
	}
	g.when(n)
	return g.looped(n)
}

func (g *grower) steps(levels plan.Levels, depth int, rollback bool) []*plan.Node {
	var out []*plan.Node
	for range 1 + g.IntN(3) {
		out = append(out, g.item(levels, depth, rollback))
	}
	return out
}

func (g *grower) item(levels plan.Levels, depth int, rollback bool) *plan.Node {
	switch {
	case depth < 3 && g.often(25):
		n := group(g.name("group"))
		inner := levels
		if g.often(50) {
			inner = append(plan.Levels{g.strategies(depth+1, rollback)}, levels...)
		}
		n.Strategies = inner
		n.Children = g.steps(inner, depth+1, rollback)
		if !rollback && g.often(30) {
			n.Rollback = g.steps(nil, depth+1, true)
		}
		g.when(n)
		return g.looped(n)
	case depth < 3 && g.often(15):
		n := &plan.Node{Kind: plan.KindParallel, Identifier: g.name("block")}
		for range 2 + g.IntN(2) {
			c := g.item(levels, depth, rollback)
			if c.Kind == plan.KindParallel { // the plan flattens them
				n.Children = append(n.Children, c.Children...)
			} else {
				n.Children = append(n.Children, c)
			}
		}
		return n
	}
	n := st(g.name("step"))
	n.Strategies = slices.Clone(levels)
	if g.often(40) {
		n.Strategies = append(plan.Levels{g.strategies(-1, rollback)}, levels...)
	}
	g.when(n)
	g.act(n.Identifier)
	if g.often(50) {
		n.Type = deployer
	}
	return g.looped(n)
}

func (g *grower) looped(n *plan.Node) *plan.Node {
	if !g.often(12) {
		return n
	}
	count := g.IntN(4)
	g.loops[n.Identifier] = count
	if g.often(8) {
		g.loops[n.Identifier], count = errors.New("no list"), 0
	}
	for i := range count {
		g.act(fmt.Sprintf("%s_%d", n.Identifier, i))
	}
	l := loop(n)
	l.Loop.SkipQueued = g.often(30)
	return l
}

// act says what the attempts of a step do.
func (g *grower) act(id string) {
	for range 1 + g.IntN(3) {
		var one any = true
		if g.often(30) {
			one = fails{[]fault.FailureType{fault.Unknown, fault.Timeout, fault.Connectivity}[g.IntN(3)]}
		}
		g.script[id] = append(g.script[id], one)
	}
}

func (g *grower) when(n *plan.Node) {
	if g.often(35) {
		status := []string{"Success", "Failure", "All"}[g.IntN(3)]
		n.When = &plan.When{Status: status, Condition: []string{"", "", "", "", "true", "true", "false", "false", "maybe"}[g.IntN(9)]}
	}
	if g.often(3) {
		n.Timeout = "soon"
	}
}

// strategies are those of a level: of a group at a depth, of a stage at 0, of
// a step below that.
func (g *grower) strategies(depth int, rollback bool) []plan.Strategy {
	var out []plan.Strategy
	for range 1 + g.IntN(2) {
		types := []fault.FailureType{fault.AllErrors}
		if g.often(50) {
			types = []fault.FailureType{[]fault.FailureType{fault.Unknown, fault.Timeout}[g.IntN(2)]}
		}
		out = append(out, plan.Strategy{Errors: types, Action: g.action(depth, 0)})
	}
	return out
}

func (g *grower) action(depth, nested int) plan.Action {
	types := []plan.ActionType{plan.Ignore, plan.MarkAsSuccess, plan.MarkAsFailure, plan.StageRollback, plan.StageRollback, plan.PipelineRollback}
	if g.often(10) {
		types = append(types, plan.Abort)
	}
	if depth > 0 {
		types = append(types, plan.StepGroupRollback, plan.RetryStepGroup)
	}
	if nested < 2 {
		types = append(types, plan.Retry, plan.Retry, plan.ManualIntervention)
	}
	a := plan.Action{Type: types[g.IntN(len(types))]}
	switch a.Type { //nolint:exhaustive // the others have nothing beside their type
	case plan.StageRollback, plan.PipelineRollback:
		a.FailAll = g.often(40)
	case plan.StepGroupRollback:
		a.Depth = depth
	case plan.RetryStepGroup:
		a.Depth, a.RetryCount = depth, 1+g.IntN(2)
	case plan.Retry:
		then := g.action(depth, nested+2)
		a.RetryCount, a.Then = 1+g.IntN(2), &then
		if g.often(30) {
			a.RetryIntervals = []time.Duration{time.Second}
		}
	case plan.ManualIntervention:
		then := g.action(depth, nested+2)
		a.Timeout, a.Then = time.Minute, &then
	}
	return a
}

// outlineOf is a tree as people can read it.
func outlineOf(n *plan.Node, indent string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s %s", indent, n.Kind, n.Identifier)
	if n.When != nil {
		fmt.Fprintf(&b, " when %s %s", n.When.Status, n.When.Condition)
	}
	if n.Timeout != "" {
		b.WriteString(" for " + n.Timeout)
	}
	if n.Loop != nil && n.Loop.SkipQueued {
		b.WriteString(" skip queued")
	}
	if n.Kind != plan.KindLoop {
		b.WriteString(" " + n.Type)
		for i, level := range n.Strategies {
			for _, s := range level {
				fmt.Fprintf(&b, " |%d %v %s", i, s.Errors, actionOf(s.Action))
			}
		}
	}
	b.WriteString("\n")
	for _, c := range n.Children {
		b.WriteString(outlineOf(c, indent+"  "))
	}
	for _, c := range n.Rollback {
		b.WriteString(outlineOf(c, indent+"  <"))
	}
	return b.String()
}

func actionOf(a plan.Action) string {
	s := string(a.Type)
	if a.FailAll {
		s += " of all"
	}
	if a.RetryCount > 0 {
		s += fmt.Sprint(" ", a.RetryCount)
	}
	if a.Depth > 0 {
		s += fmt.Sprint(" of ", a.Depth)
	}
	if a.Then != nil {
		s += " then " + actionOf(*a.Then)
	}
	return s
}

// The generator must reach all that it is for.
func TestTreesHaveEverything(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i := range 500 {
		g := &grower{Rand: rand.New(rand.NewPCG(uint64(i), 1)), loops: map[string]any{}, script: map[string][]any{}}
		s := newSim(t, g.pipeline())
		s.loops, s.script = g.loops, g.script
		s.run(s.plan.Root.ID)
		for id, st := range s.states {
			n := s.plan.Node(id)
			seen[string(n.Kind)+" "+string(st.Status)]++
			if st.Forward != "" {
				seen[string(n.Kind)+" undone"]++
			}
			if st.Message == sweptMessage {
				seen[string(n.Kind)+" swept"]++
			}
			if st.Undecided {
				seen[string(n.Kind)+" undecided "+string(st.Status)]++
			}
			if st.Try > 0 {
				seen[string(n.Kind)+" again"]++
			}
		}
	}
	for _, want := range []string{
		"pipeline Aborted", "pipeline Failed", "pipeline IgnoreFailed", "pipeline Success", "stage undone", "stepGroup undone",
		"stepGroup again", "strategy Failed", "strategy Skipped", "strategy IgnoreFailed", "step Skipped", "parallel Failed", "step again", "stepGroup swept", "step swept",
		"step undecided Failed", "step undecided IgnoreFailed", "stepGroup undecided Failed", "stepGroup undecided Success", "stage undecided Failed", "strategy undecided Failed",
	} {
		if seen[want] == 0 {
			t.Errorf("no tree has a %s; there are %v", want, slices.Sorted(maps.Keys(seen)))
		}
	}
}
