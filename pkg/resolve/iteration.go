package resolve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// around finds the nearest iteration around the scope's node whose values
// have the kind; any where kind is empty.
func (r record) around(n *plan.Node, kind string) (loop *plan.Node, index int, values expr.Value, err error) {
	for {
		loop, postfix := n.Looped()
		if loop == nil {
			return nil, 0, expr.Null(), nil
		}
		index, values, err := r.iteration(loop, postfix)
		if err != nil {
			return nil, 0, expr.Null(), err
		}
		if _, ok := values.Field(kind); index >= 0 && (ok || kind == "") {
			return loop, index, values, nil
		}
		n = loop.Parent()
	}
}

// iteration reads an iteration's values from the loop's state; -1 if the loop
// has none with that postfix.
func (r record) iteration(loop *plan.Node, postfix string) (index int, values expr.Value, err error) {
	its := r.state(loop.ID).Iterations
	if its == nil {
		return -1, expr.Null(), nil
	}
	index = slices.IndexFunc(its.List, func(it plan.Iteration) bool { return it.Postfix == postfix })
	if index < 0 || len(its.List[index].Values) == 0 {
		return index, expr.Null(), nil
	}
	if err := json.Unmarshal(its.List[index].Values, &values); err != nil {
		return 0, expr.Null(), fmt.Errorf("decode the values of an iteration of %s: %w", loop.ID, err)
	}
	return index, values, nil
}

// looped resolves matrix.*, repeat.* and strategy.* as seen from a node
// (semantics/pipeline §6).
func (r record) looped(n *plan.Node, path []string) (expr.Value, int, error) {
	if path[0] == "strategy" {
		return r.strategy(n, path)
	}
	loop, _, values, err := r.around(n, path[0])
	if err != nil {
		return expr.Null(), 0, err
	}
	if loop == nil {
		return expr.Null(), 0, unknown("%s has no meaning here: nothing around it loops over one", path[0])
	}
	v, _ := values.Field(path[0])
	if len(path) == 1 {
		return v, 1, nil
	}
	field, ok := v.Field(path[1])
	if !ok {
		return expr.Null(), 0, unknown("the loop has no %s.%s; it has %s", path[0], path[1], strings.Join(v.Keys(), ", "))
	}
	return field, 2, nil
}

// strategy resolves strategy.* as seen from a node.
func (r record) strategy(n *plan.Node, path []string) (expr.Value, int, error) {
	if len(path) < 2 {
		return expr.Null(), 0, unknown("strategy needs a field, e.g. strategy.iteration")
	}
	switch path[1] {
	case "node":
		return r.loopStatuses(n), 2, nil
	case "currentStatus":
		if loop := r.nearestLoop(n); loop != nil {
			return expr.String(r.loopStatus(loop)), 2, nil
		}
		return expr.Null(), 2, nil
	}
	loop, index, _, err := r.around(n, "")
	if err != nil {
		return expr.Null(), 0, err
	}
	if loop == nil {
		return expr.Null(), 0, unknown("strategy.%s has no meaning here: nothing around it loops", path[1])
	}
	its := r.state(loop.ID).Iterations.List
	switch path[1] {
	case "iteration":
		return expr.Int(int64(index)), 2, nil
	case "iterations", "totalIterations":
		return expr.Int(int64(len(its))), 2, nil
	case "identifierPostFix":
		return expr.String(its[index].Postfix), 2, nil
	}
	return expr.Null(), 0, unknown("strategy has no %q; it has iteration, iterations, totalIterations, identifierPostFix, currentStatus and node", path[1])
}

// nearestLoop is the loop whose status strategy.currentStatus means: that
// around the node, else the last one before it in its stage, else its stage's.
func (r record) nearestLoop(n *plan.Node) *plan.Node {
	if loop, _ := n.Looped(); loop != nil && loop == n.Parent() {
		return loop
	}
	var last *plan.Node
	for _, loop := range loopsOf(n.Stage()) {
		if r.state(loop.ID).Iterations != nil {
			last = loop
		}
	}
	if last == nil {
		last, _ = n.Looped()
	}
	return last
}

// loopsOf lists the loops of a stage outside of other loops, in order.
func loopsOf(stage *plan.Node) []*plan.Node {
	var out []*plan.Node
	var walk func(*plan.Node)
	walk = func(n *plan.Node) {
		if n.Kind == plan.KindLoop {
			out = append(out, n)
			return
		}
		for _, c := range slices.Concat(n.Children, n.Rollback) {
			walk(c)
		}
	}
	if stage != nil {
		walk(stage)
	}
	return out
}

// loopStatuses is strategy.node: the status of each looped node of the stage,
// and of the stage if it is looped, by identifier.
func (r record) loopStatuses(n *plan.Node) expr.Value {
	loops := loopsOf(n.Stage())
	if outer, _ := n.Stage().Looped(); outer != nil {
		loops = append(loops, outer)
	}
	m := map[string]expr.Value{}
	for _, loop := range loops {
		m[loop.Identifier] = expr.Map(map[string]expr.Value{"currentStatus": expr.String(r.loopStatus(loop))})
	}
	return expr.Map(m)
}

// loopStatus is RUNNING, FAILED or SUCCESS: failed as soon as an iteration is.
func (r record) loopStatus(loop *plan.Node) string {
	st := r.state(loop.ID)
	if st.Iterations == nil {
		return st.Status.Expression()
	}
	running := !st.Status.Terminal()
	for _, it := range st.Iterations.List {
		switch one := r.state(loop.Iteration(it.Postfix)).Status; {
		case one.Bad():
			return "FAILED"
		case !one.Terminal():
			running = true
		}
	}
	if running {
		return "RUNNING"
	}
	return "SUCCESS"
}

// find is the node that a path names in this execution: of a loop only the
// iterations that there are, by their own postfix or by their number.
func (r record) find(path []string) *plan.Node {
	n := r.plan.Node(plan.NodeID(dotted(path)))
	if n == nil || !r.plan.Loops() {
		return n
	}
	for at := n; ; {
		loop, postfix := at.Looped()
		if loop == nil {
			return n
		}
		if index, _, err := r.iteration(loop, postfix); err != nil || index < 0 {
			return nil
		}
		at = loop.Parent()
	}
}

// canonical puts a path's names for iterations as node ids have them: of
// stages.s.s_0 one segment, and of s_3 the postfix with the index on each
// axis. It says how many segments it left out.
func (r record) canonical(path []string) ([]string, int) {
	if !r.plan.Loops() {
		return path, 0
	}
	dropped := 0
	for i := 0; i < len(path); i++ {
		loop := r.plan.Node(plan.NodeID(dotted(path[:i+1])))
		if loop == nil || loop.Kind != plan.KindLoop {
			base, number, ok := cutNumber(path[i])
			loop = r.find(join(path[:i], []string{base}))
			if !ok || loop == nil || loop.Kind != plan.KindLoop {
				continue
			}
			if its := r.state(loop.ID).Iterations; its != nil && number < len(its.List) {
				path = slices.Clone(path)
				path[i] = base + its.List[number].Postfix
			}
			continue
		}
		if i+1 < len(path) && strings.HasPrefix(path[i+1], path[i]+"_") {
			path = slices.Delete(slices.Clone(path), i, i+1)
			dropped++
			i--
		}
	}
	return path, dropped
}

// cutNumber takes the last _N off a name.
func cutNumber(name string) (base string, number int, ok bool) {
	at := strings.LastIndexByte(name, '_')
	if at < 0 {
		return "", 0, false
	}
	number, err := strconv.Atoi(name[at+1:])
	return name[:at], number, err == nil && number >= 0
}
