package engine

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// model is the meaning of a pipeline, written once more from docs/semantics,
// as a plain recursive program: it knows no machine runs, no waits, no stored
// states and no clock. TestEngineMeansWhatTheModelMeans compares the two.
type model struct {
	plan    *plan.Plan
	loops   map[string]any
	script  map[string][]any
	tries   map[plan.NodeID]int // attempts of a step so far
	ends    map[plan.NodeID]plan.Status
	undone  map[plan.NodeID]bool // stages and groups whose rollback has begun
	unbegun map[plan.NodeID]bool // stages and groups that failed before they began
	aborted bool
}

// ask is what a failure asks of the containers around it.
type ask struct {
	action plan.ActionType // empty: nothing
	depth  int
	count  int
	all    bool // it ends the other members
}

// past is what conditions see of what came before.
type past struct{ failed, ignored bool }

// rank orders the ends of children; the container has the worst
// (semantics/pipeline §8.2).
func rank(s plan.Status) int {
	return slices.Index([]plan.Status{
		plan.Skipped, plan.Success, plan.IgnoreFailed, plan.Expired, plan.ApprovalRejected, plan.Failed, plan.Errored, plan.Aborted,
	}, s)
}

func bad(s plan.Status) bool { return rank(s) > 2 }

func (p past) with(s plan.Status) past {
	return past{p.failed || bad(s), p.ignored || s == plan.IgnoreFailed}
}

// wants is a node's condition (semantics/pipeline §4).
func wants(n *plan.Node, p past) bool {
	return statusWants(n, p) && (n.When == nil || n.When.Condition != "false")
}

func statusWants(n *plan.Node, p past) bool {
	if n.When == nil || n.When.Status == "Success" {
		return !p.failed
	}
	return n.When.Status == "All" || p.failed || p.ignored
}

// unclear says whether a node that its condition doesn't skip can't begin: the
// condition or the timeout gives no answer, or the loop doesn't.
func (m *model) unclear(n *plan.Node) bool {
	if n.Kind == plan.KindLoop {
		_, broken := m.loops[n.Identifier].(error)
		return broken
	}
	return n.When != nil && n.When.Condition == "maybe" || n.Timeout == "soon"
}

// refuse ends a container that can't begin by the strategy that applies to it
// (semantics/pipeline §5.2). Nothing is left for it to undo or to do again.
func (m *model) refuse(n *plan.Node, rollback bool) ask {
	owner := n
	if n.Kind == plan.KindLoop {
		owner = n.Children[0]
	}
	m.ends[n.ID], m.unbegun[n.ID] = plan.Failed, true
	action := strategyFor(owner, fails{fault.Unknown})
	switch {
	case action == nil && rollback:
		return ask{action: plan.StageRollback}
	case action == nil:
		return ask{}
	}
	asked := m.act(n, *action, rollback)
	own := owner.Kind == plan.KindStage && asked.action == plan.StageRollback || owner.Kind == plan.KindGroup && asked.depth == depthOf(owner)
	if own {
		return ask{}
	}
	return asked
}

// depthOf counts the groups around a node, itself included.
func depthOf(n *plan.Node) int {
	depth := 0
	for up := n; up != nil && up.Kind != plan.KindStage; up = up.Parent() {
		if up.Kind == plan.KindGroup {
			depth++
		}
	}
	return depth
}

// node runs a node that is next, or skips it.
func (m *model) node(n *plan.Node, p past, rollback bool) ask {
	switch {
	case n.Kind == plan.KindParallel:
		return m.together(n, n.Children, p, rollback, false)
	case n.Kind == plan.KindLoop:
		return m.loop(n, p, rollback)
	case !wants(n, p):
		m.ends[n.ID] = plan.Skipped
		return ask{}
	}
	return m.begun(n, p, rollback)
}

// begun runs a node whose condition holds.
func (m *model) begun(n *plan.Node, p past, rollback bool) ask {
	switch {
	case m.aborted:
		m.ends[n.ID] = plan.Aborted
		return ask{}
	case n.Kind == plan.KindStep:
		return m.step(n, rollback)
	case m.unclear(n):
		return m.refuse(n, rollback)
	case n.Kind == plan.KindGroup:
		return m.group(n, p, rollback)
	}
	return m.stage(n)
}

// list runs nodes one after the other until one asks for something.
func (m *model) list(nodes []*plan.Node, p past, rollback bool) (worst plan.Status, asked ask) {
	worst = plan.Skipped
	for _, n := range nodes {
		if m.aborted || asked.action != "" {
			break
		}
		asked = m.node(n, p, rollback)
		s := m.ends[n.ID]
		p = p.with(s)
		if rank(s) > rank(worst) {
			worst = s
		}
	}
	return worst, asked
}

// end is how a container ends by the worst of its children.
func (m *model) end(worst plan.Status) plan.Status {
	switch {
	case m.aborted:
		return plan.Aborted
	case worst == plan.Skipped:
		return plan.Success
	}
	return worst
}

// together runs the members of a parallel block, or iterations of a loop. All
// that is asked for is asked once all have ended; the strongest wins.
func (m *model) together(n *plan.Node, members []*plan.Node, p past, rollback, queued bool) ask {
	worst, asked, broke, all := plan.Skipped, ask{}, false, false
	skip, refused := map[plan.NodeID]bool{}, map[plan.NodeID]ask{}
	for _, c := range members { // a block starts all its members at once
		if !queued && c.Kind != plan.KindParallel && c.Kind != plan.KindLoop && !wants(c, p) {
			skip[c.ID] = true
		}
		if !queued && c.Kind == plan.KindLoop && (!statusWants(c.Children[0], p) || m.loops[c.Identifier] == 0) {
			skip[c.ID] = true
		}
		if !queued && !skip[c.ID] && c.Kind != plan.KindStep && m.unclear(c) {
			refused[c.ID] = m.refuse(c, rollback)
			all = all || refused[c.ID].all
		}
	}
	for _, c := range members {
		one, ended := refused[c.ID]
		switch {
		case ended:
		case skip[c.ID]:
			m.ends[c.ID] = plan.Skipped
		case queued && m.aborted:
			m.ends[c.ID] = plan.Aborted
		case all && (queued || c.Kind == plan.KindLoop):
			m.skipAll(c)
		case all:
			m.swept(c)
		case queued && broke && n.Loop.SkipQueued:
			m.ends[c.ID] = plan.Skipped
		case queued || c.Kind == plan.KindLoop:
			one = m.node(c, p, rollback)
		default:
			one = m.begun(c, p, rollback)
		}
		s := m.ends[c.ID]
		broke, all = broke || bad(s), all || one.all
		if rank(s) > rank(worst) {
			worst = s
		}
		if strength(one) > strength(asked) {
			asked = one
		}
	}
	m.ends[n.ID] = m.end(worst)
	return asked
}

// swept ends a member of a block that another member's failure ends
// (semantics/pipeline §5.4): what deploys at once, another step after its
// attempt.
func (m *model) swept(n *plan.Node) {
	switch {
	case m.aborted:
		m.ends[n.ID] = plan.Aborted
	case n.Kind != plan.KindStep:
		m.ends[n.ID] = plan.Failed
	case n.Type == deployer:
		m.tries[n.ID]++
		m.ends[n.ID] = plan.Failed
	default:
		if _, failed := m.attempt(n); failed {
			m.ends[n.ID] = plan.Failed
		} else {
			m.ends[n.ID] = plan.Success
		}
	}
}

// skipAll skips an iteration, or those of a loop, before they begin.
func (m *model) skipAll(n *plan.Node) {
	m.ends[n.ID] = plan.Skipped
	if n.Kind == plan.KindLoop {
		for _, c := range m.iterations(n) {
			m.ends[c.ID] = plan.Skipped
		}
		m.ends[n.ID] = plan.Success
	}
}

// strength: a pipeline's rollback before a stage's, that before a group's, of
// which the outer one; a retry is the weakest.
func strength(a ask) int {
	switch a.action { //nolint:exhaustive // the others ask for nothing
	case plan.PipelineRollback:
		return 400
	case plan.StageRollback:
		return 300
	case plan.StepGroupRollback:
		return 201 - 2*a.depth
	case plan.RetryStepGroup:
		return 200 - 2*a.depth
	}
	return 0
}

func (m *model) loop(n *plan.Node, p past, rollback bool) ask {
	count, _ := m.loops[n.Identifier].(int)
	switch {
	case !statusWants(n.Children[0], p):
		m.ends[n.ID] = plan.Skipped
		return ask{}
	case m.unclear(n):
		return m.refuse(n, rollback)
	case count == 0:
		m.ends[n.ID] = plan.Skipped
		return ask{}
	}
	return m.together(n, m.iterations(n), p, rollback, true)
}

func (m *model) iterations(n *plan.Node) []*plan.Node {
	count, _ := m.loops[n.Identifier].(int)
	var out []*plan.Node
	for i := range count {
		out = append(out, m.plan.Node(n.Iteration("_"+string(rune('0'+i)))))
	}
	return out
}

// step makes attempts until one succeeds or a strategy is at its end
// (semantics/pipeline §5).
func (m *model) step(n *plan.Node, rollback bool) ask {
	var action *plan.Action
	for attempt := 1; ; attempt++ {
		types, failed := m.attempt(n)
		if !failed {
			m.ends[n.ID] = plan.Success
			return ask{}
		}
		if action == nil {
			action = strategyFor(n, types)
		}
		if action == nil {
			m.ends[n.ID] = plan.Failed
			if rollback {
				return ask{action: plan.StageRollback} // it ends the section
			}
			return ask{}
		}
		if action.Type == plan.Retry && attempt <= action.RetryCount {
			continue
		}
		return m.act(n, *action, rollback)
	}
}

// attempt makes one and says how it failed, if it did.
func (m *model) attempt(n *plan.Node) (types fails, failed bool) {
	m.tries[n.ID]++
	if m.unclear(n) {
		return fails{fault.Unknown}, true
	}
	if list := m.script[n.Identifier]; len(list) > 0 {
		types, failed = list[min(m.tries[n.ID], len(list))-1].(fails)
	}
	return types, failed
}

// act carries out an action that ends a step.
func (m *model) act(n *plan.Node, a plan.Action, rollback bool) ask {
	for a.Type == plan.Retry || a.Type == plan.ManualIntervention {
		a = *a.Then // the retries are used up, or nobody came
	}
	switch a.Type {
	case plan.Ignore:
		m.ends[n.ID] = plan.IgnoreFailed
	case plan.MarkAsSuccess:
		m.ends[n.ID] = plan.Success
	case plan.Abort:
		m.ends[n.ID], m.aborted = plan.Aborted, true
	case plan.MarkAsFailure:
		m.ends[n.ID] = plan.Failed
	default:
		m.ends[n.ID] = plan.Failed
		if !rollback {
			return ask{a.Type, a.Depth, a.RetryCount, a.FailAll}
		}
	}
	return ask{}
}

// strategyFor is the innermost level that knows the failure, by its type
// before AllErrors (semantics/pipeline §5.2).
func strategyFor(n *plan.Node, types fails) *plan.Action {
	for _, level := range n.Strategies {
		for _, wanted := range [][]fault.FailureType{types, {fault.AllErrors}} {
			for i, s := range level {
				if slices.ContainsFunc(wanted, func(t fault.FailureType) bool { return slices.Contains(s.Errors, t) }) {
					return &level[i].Action
				}
			}
		}
	}
	return nil
}

func (m *model) group(n *plan.Node, p past, rollback bool) ask {
	depth := depthOf(n)
	for try := 0; ; try++ {
		worst, asked := m.list(n.Children, p, rollback)
		m.ends[n.ID] = m.end(worst)
		mine := asked.depth == depth && !m.aborted
		switch {
		case mine && asked.action == plan.RetryStepGroup:
			if try < asked.count {
				m.forget(n)
				continue
			}
			return ask{}
		case mine && asked.action == plan.StepGroupRollback:
			m.undone[n.ID] = true
			m.list(n.Rollback, past{}, true)
			m.ends[n.ID] = m.end(plan.Failed)
			return ask{}
		}
		return asked
	}
}

// forget drops what became of what is below a node.
func (m *model) forget(n *plan.Node) {
	children := n.Children
	if n.Kind == plan.KindLoop {
		children = m.iterations(n)
	}
	for _, c := range children {
		delete(m.ends, c.ID)
		delete(m.undone, c.ID)
		delete(m.unbegun, c.ID)
		m.forget(c)
	}
}

func (m *model) stage(n *plan.Node) ask {
	worst, asked := m.list(n.Children, past{}, false)
	m.ends[n.ID] = m.end(worst)
	if asked.action == plan.StageRollback && !m.aborted {
		m.rollBack(n)
		m.ends[n.ID] = m.end(plan.Failed)
		return ask{}
	}
	return asked
}

// rollBack runs what undoes a stage: its groups in reverse, then its own
// rollback steps (semantics/pipeline §5.4). It says how the latter ended.
func (m *model) rollBack(n *plan.Node) plan.Status {
	m.undone[n.ID] = true
	for _, c := range slices.Backward(n.Children) {
		m.undo(m.targets(c, plan.KindGroup))
	}
	worst, _ := m.list(n.Rollback, past{}, true)
	return worst
}

// undo rolls nodes back at the same time: how each ended stays, unless its
// rollback fails.
func (m *model) undo(nodes []*plan.Node) {
	if m.aborted {
		return
	}
	for _, n := range nodes {
		m.undone[n.ID] = true
	}
	for _, n := range nodes {
		if m.aborted {
			m.ends[n.ID] = plan.Aborted
			continue
		}
		var worst plan.Status
		if n.Kind == plan.KindStage {
			worst = m.rollBack(n)
		} else {
			worst, _ = m.list(n.Rollback, past{}, true)
		}
		if m.aborted {
			m.ends[n.ID] = plan.Aborted
		} else if bad(worst) {
			m.ends[n.ID] = plan.Failed
		}
	}
}

// targets lists the stages or groups at or below a node that ran, have
// something to undo and haven't begun to.
func (m *model) targets(n *plan.Node, kind plan.Kind) []*plan.Node {
	if end, ran := m.ends[n.ID]; !ran || end == plan.Skipped || m.unbegun[n.ID] {
		return nil
	}
	if n.Kind == kind && undoable(n) {
		if m.undone[n.ID] {
			return nil
		}
		return []*plan.Node{n}
	}
	children := n.Children
	switch n.Kind { //nolint:exhaustive // the others have children as they stand
	case plan.KindLoop:
		children = m.iterations(n)
	case plan.KindStage:
		return nil
	}
	var out []*plan.Node
	for _, c := range children {
		out = append(out, m.targets(c, kind)...)
	}
	return out
}

func undoable(n *plan.Node) bool {
	if len(n.Rollback) > 0 {
		return true
	}
	return n.Kind == plan.KindStage && slices.ContainsFunc(n.Children, hasUndoableGroup)
}

func hasUndoableGroup(n *plan.Node) bool {
	return n.Kind == plan.KindGroup && len(n.Rollback) > 0 || slices.ContainsFunc(n.Children, hasUndoableGroup)
}

// pipeline runs all of it.
func (m *model) pipeline() {
	root := m.plan.Root
	worst, asked := m.list(root.Children, past{}, false)
	m.ends[root.ID] = m.end(worst)
	if asked.action != plan.PipelineRollback || m.aborted {
		return
	}
	for _, c := range slices.Backward(root.Children) {
		m.undo(m.targets(c, plan.KindStage))
	}
	m.ends[root.ID] = m.end(plan.Failed)
}
