package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// view draws an execution as a tree of stages and steps. It is a pure
// function of the execution and the moment.
type view struct {
	now    time.Time
	width  int // of the terminal; 0: as wide as it needs
	height int // 0: as high as it needs
	color  bool
	column int // where the times begin
}

// timeWidth is the room of a time, e.g. "  1h04m".
const timeWidth = 7

// lines draws the tree, one node a line, below a headline. What doesn't fit
// is left out, the least interesting first.
func (v view) lines(t api.ExecutionTree) []string {
	nodes := shown(t.Root)
	for _, less := range []func([]branch) []branch{
		func(bs []branch) []branch { return folded(bs, ended) },
		func(bs []branch) []branch { return folded(bs, waitingToStart) },
		func(bs []branch) []branch { return pruned(bs, waitingToStart) },
		func(bs []branch) []branch { return pruned(bs, ended) },
	} {
		if v.height == 0 || 1+size(nodes) <= v.height {
			break
		}
		nodes = less(nodes)
	}
	v.column = min(max(widest(nodes, 0)+2, 24), 60)
	if v.width > 0 {
		v.column = min(v.column, max(v.width-timeWidth, 0))
	}
	out := v.draw([]string{v.headline(t)}, nodes, "")
	if v.height > 2 && len(out) > v.height {
		more := len(out) - v.height + 1
		out = append(out[:v.height-1], fmt.Sprintf("... and %d more", more))
	}
	return out
}

func (v view) headline(t api.ExecutionTree) string {
	end := t.EndedAt
	if end.IsZero() {
		end = v.now
	}
	return v.fit(fmt.Sprintf("%s #%d  %s  %s  %s", t.Pipeline, t.Sequence, t.ID, t.Status, span(end.Sub(t.StartedAt))))
}

// branch is a node that is drawn, with what is drawn below it, or what is told
// of nodes that there was no room for.
type branch struct {
	node     *execution.TreeNode
	children []branch
	more     string
}

// shown are the nodes below n that people know by a name: members of a
// parallel block and iterations of a loop stand in its place, and rollback steps only once they run.
func shown(n *execution.TreeNode) []branch {
	var out []branch
	for _, c := range n.Children {
		switch {
		case c.Rollback && c.Status == plan.NotStarted:
		case c.Kind == plan.KindParallel, c.Kind == plan.KindLoop && (len(c.Children) > 0 || c.Hidden != nil):
			out = append(out, shown(c)...)
		default:
			out = append(out, branch{node: c, children: shown(c)})
		}
	}
	if n.Hidden != nil {
		out = append(out, branch{node: &execution.TreeNode{}, more: more(n.Hidden)})
	}
	return out
}

func size(bs []branch) int {
	n := len(bs)
	for _, b := range bs {
		n += size(b.children)
	}
	return n
}

// widest is how wide the longest name is, with what stands before it.
func widest(bs []branch, indent int) int {
	most := 0
	for _, b := range bs {
		most = max(most, indent+len([]rune("├─ ? "+label(b.node))), widest(b.children, indent+3))
	}
	return most
}

func ended(n *execution.TreeNode) bool          { return n.Status.Good() }
func waitingToStart(n *execution.TreeNode) bool { return n.Status == plan.NotStarted }

// folded leaves out what is below the containers that fold says.
func folded(bs []branch, fold func(*execution.TreeNode) bool) []branch {
	out := slices.Clone(bs)
	for i, b := range out {
		if fold(b.node) {
			out[i].children = nil
		} else {
			out[i].children = folded(b.children, fold)
		}
	}
	return out
}

// pruned leaves out the nodes that drop says, but for those above others.
func pruned(bs []branch, drop func(*execution.TreeNode) bool) []branch {
	var out []branch
	for _, b := range bs {
		if b.children = pruned(b.children, drop); len(b.children) > 0 || !drop(b.node) {
			out = append(out, b)
		}
	}
	return out
}

func (v view) draw(out []string, bs []branch, indent string) []string {
	for i, b := range bs {
		knot, rail := "├─ ", "│  "
		if i == len(bs)-1 {
			knot, rail = "└─ ", "   "
		}
		if b.more != "" {
			out = append(out, v.fit(indent+knot+b.more))
			continue
		}
		out = append(out, v.line(indent+knot, b.node))
		out = v.draw(out, b.children, indent+rail)
	}
	return out
}

// line is one node: its symbol, name, time and what is special about it.
func (v view) line(indent string, n *execution.TreeNode) string {
	name := view{width: v.column}.fit(indent + "? " + label(n))
	text := name + strings.Repeat(" ", max(0, v.column-len([]rune(name))))
	text += fmt.Sprintf("%*s", timeWidth, v.took(n))
	if note := note(n); note != "" {
		text += "  " + printable.Line(note)
	}
	text = v.fit(strings.TrimRight(text, " "))
	return indent + v.paint(n.Status, symbol(n.Status)) + strings.TrimPrefix(text, indent+"?")
}

// label is a node's name and its attempt, if that isn't the first.
func label(n *execution.TreeNode) string {
	name := cmp.Or(n.Name, n.Identifier)
	if n.Attempt > 1 {
		name += fmt.Sprintf(" (attempt %d)", n.Attempt)
	}
	return printable.Line(name)
}

func (v view) took(n *execution.TreeNode) string {
	switch {
	case n.StartedAt.IsZero():
		return ""
	case !n.EndedAt.IsZero():
		return span(n.EndedAt.Sub(n.StartedAt))
	case n.Status.Terminal():
		return ""
	}
	return span(v.now.Sub(n.StartedAt))
}

// note is what a person should know of a node beside its symbol. A
// container's message is that of its steps, which have it too.
func note(n *execution.TreeNode) string {
	message, _, _ := strings.Cut(n.Message, "\n")
	switch {
	case n.Child != "" && !n.Status.Terminal() && n.Status != plan.Running:
		return message // of the other execution
	case n.Status == plan.ApprovalWaiting:
		return strings.TrimSuffix("waits for approval: "+message, ": ")
	case n.Status == plan.InputWaiting:
		return "waits for inputs"
	case n.Status == plan.InterventionWaiting:
		return strings.TrimSuffix("waits for a decision: "+message, ": ")
	case n.Status.Bad() && len(n.Children) == 0: // or none is shown
		return strings.TrimSuffix(string(n.Status)+": "+message, ": ")
	case n.Status == plan.ResourceWaiting && builtin.Steps().Of(n.Type).Meets:
		return "waits for others at its barrier"
	case n.Status == plan.ResourceWaiting:
		return "waits for its turn"
	case n.Status == plan.QueuedConcurrency:
		return "is queued: " + message
	case n.Status == plan.IgnoreFailed || n.Status == plan.Skipped:
		return string(n.Status)
	case n.Child != "":
		return "execution " + n.Child
	}
	return ""
}

func symbol(s plan.Status) string {
	switch s {
	case plan.Success, plan.IgnoreFailed:
		return "✓"
	case plan.Skipped:
		return "-"
	case plan.Failed, plan.Errored, plan.Expired, plan.ApprovalRejected:
		return "✗"
	case plan.Aborted, plan.AbortedByFreeze:
		return "■"
	case plan.ApprovalWaiting, plan.InterventionWaiting, plan.InputWaiting, plan.Paused, plan.Pausing:
		return "◆"
	case plan.Running, plan.TaskWaiting, plan.WaitStepRunning, plan.ResourceWaiting, plan.Queued, plan.QueuedConcurrency:
		return "●"
	case plan.NotStarted:
	}
	return "○"
}

// paint colours a text by a status (ANSI).
func (v view) paint(s plan.Status, text string) string {
	if !v.color {
		return text
	}
	code := "36" // cyan: under way
	switch {
	case s == plan.NotStarted || s == plan.Skipped:
		code = "2"
	case s == plan.ApprovalWaiting || s == plan.InterventionWaiting || s == plan.InputWaiting || s == plan.Paused || s == plan.IgnoreFailed:
		code = "33"
	case s.Good():
		code = "32"
	case s.Bad():
		code = "31"
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// fit cuts a line to the width.
func (v view) fit(line string) string {
	runes := []rune(line)
	if v.width <= 0 || len(runes) <= v.width {
		return line
	}
	return string(runes[:max(v.width-1, 0)]) + "…"
}
