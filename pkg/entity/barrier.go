package entity

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Barrier is one of a pipeline's flowControl.barriers
// (semantics/pipeline §7.1).
type Barrier struct {
	Identifier yamldoc.Field[string]
	Name       yamldoc.Field[string]
}

func (d pipelines) flowControl(p *Pipeline) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{"barriers": func(v yamldoc.Value) {
			ids := document.Seen{}
			for item := range d.Items(v) {
				var b Barrier
				d.Fields(item, document.Keys{
					"identifier": func(v yamldoc.Value) {
						b.Identifier = d.Identifier(v, ref.CheckNodeID)
						d.Unique(ids, v, b.Identifier.Value)
					},
					"name": d.Name(&b.Name),
				})
				d.Need(item, "identifier", "name")
				p.Barriers = append(p.Barriers, b)
			}
		}})
	}
}

// maxAtBarrier is how many steps may wait at one barrier: each asks for the
// state of all others.
const maxAtBarrier = 256

// checkBarriers checks the Barrier steps of a pipeline against its barriers
// and each other.
func (d pipelines) checkBarriers(p *Pipeline) {
	var names []string
	declared := document.Seen{}
	for _, b := range p.Barriers {
		declared[b.Identifier.Value] = b.Identifier.At
		names = append(names, b.Identifier.Value)
	}
	earlier, crowded := map[string][]waiter{}, map[string]bool{}
	for _, v := range d.barriers {
		name := v.Node.Value
		if _, ok := declared[name]; !ok {
			d.Errorf(v, document.BadReference, "flowControl.barriers has no barrier %q%s", name, d.Hint(name, names))
			continue
		}
		if len(earlier[name]) == maxAtBarrier {
			if !crowded[name] {
				d.Errorf(v, tooMany, "more than %d steps wait at the barrier %q", maxAtBarrier, name)
			}
			crowded[name] = true
			continue
		}
		w := waiterAt(v)
		for _, other := range earlier[name] {
			if why := w.neverMeets(other); why != "" {
				d.Errorf(v, barrierDeadlock, "Barrier Deadlock Detected: %q %s; the other step is in line %d", name, why, other.line)
				break
			}
		}
		earlier[name] = append(earlier[name], w)
	}
	d.checkCrowds()
}

// checkCrowds refuses parallel blocks of which so many members can wait at
// barriers that those that they wait for never get their turn.
func (d pipelines) checkCrowds() {
	crowds := map[string]*crowd{}
	for _, v := range d.barriers {
		for block, member := range blocksOf(v.Path) {
			c := crowds[block]
			if c == nil {
				c = &crowd{members: map[string]bool{}, at: map[string]map[string]bool{}}
				crowds[block] = c
			}
			if c.add(v.Node.Value, member) {
				d.Errorf(v, barrierDeadlock, "Barrier Deadlock Detected: more than %[1]d members of %[2]s wait at barriers; of a parallel block %[1]d run at once, so the others never come", extent.AtOnce, block)
			}
		}
	}
}

// crowd is who waits at barriers in one parallel block.
type crowd struct {
	members map[string]bool            // that wait at any
	at      map[string]map[string]bool // by barrier
	waiting int                        // of each barrier all but one, in all
	told    bool
}

// add adds a member that waits at a barrier. It says, once, whether those that
// wait for somebody can take all places of the block: of each barrier all but
// one.
func (c *crowd) add(barrier, member string) (stuck bool) {
	at := c.at[barrier]
	switch {
	case at == nil:
		at = map[string]bool{}
		c.at[barrier] = at
	case !at[member]:
		c.waiting++
	}
	c.members[member], at[member] = true, true
	stuck = !c.told && len(c.members) > extent.AtOnce && c.waiting >= extent.AtOnce
	c.told = c.told || stuck
	return stuck
}

// blocksOf gives the parallel blocks around a path, each with the member that
// the path is in. A block in a block is part of it (semantics/pipeline §1.3).
func blocksOf(path string) map[string]string {
	blocks := map[string]string{}
	for _, at := range inParallel.FindAllStringIndex(path, -1) {
		blocks[path[:at[0]]+".parallel"] = path[:at[1]]
	}
	return blocks
}

var inParallel = regexp.MustCompile(`(\.parallel\[\d+\])+`)

// waiter is a step that waits at a barrier, with what is asked of it for each
// of the others there.
type waiter struct {
	path, holder string
	back         bool // it stands in rollbackSteps
	line         int
}

func waiterAt(v yamldoc.Value) waiter {
	return waiter{path: v.Path, holder: holderOf(v.Path), back: strings.Contains(v.Path, ".rollbackSteps["), line: v.Node.Line}
}

// neverMeets says why two steps can't wait for each other
// (semantics/pipeline §7.1); empty if they can.
func (w waiter) neverMeets(other waiter) string {
	switch {
	case w.back != other.back:
		return "stands in steps and in rollbackSteps"
	case w.holder == other.holder:
		return "stands twice in one stage or step group"
	}
	i := 0
	for i < len(w.path) && i < len(other.path) && w.path[i] == other.path[i] {
		i++
	}
	list := w.path[:strings.LastIndex(w.path[:i], "[")] // where the ways part
	if strings.HasSuffix(list, ".parallel") {
		return ""
	}
	return "stands in steps that run one after the other"
}

// holderOf is the path of the stage or the step group that a step is in.
func holderOf(path string) string {
	return path[:max(strings.LastIndex(path, ".stage."), strings.LastIndex(path, ".stepGroup."), 0)]
}
