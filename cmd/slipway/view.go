package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// view draws an execution as a tree of stages and steps. It is a pure
// function of the execution and the moment.
type view struct {
	now    time.Time
	width  int // of the terminal; 0: as wide as it needs
	height int // 0: as high as it needs
	color  bool
}

// lines draws the tree, one node a line, below a headline. What doesn't fit
// is left out, the least interesting first.
func (v view) lines(t api.ExecutionTree) []string {
	out := []string{v.headline(t)}
	nodes := shown(t.Root)
	for _, fold := range []func(*execution.TreeNode) bool{ended, waitingToStart} {
		if v.height == 0 || 1+size(nodes) <= v.height {
			break
		}
		nodes = folded(nodes, fold)
	}
	out = v.draw(out, nodes, "")
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

// branch is a node that is drawn, with what is drawn below it.
type branch struct {
	node     *execution.TreeNode
	children []branch
}

// shown are the nodes below n that people know by a name: members of a
// parallel block stand in its place, and rollback steps only once they run.
func shown(n *execution.TreeNode) []branch {
	var out []branch
	for _, c := range n.Children {
		switch {
		case c.Rollback && c.Status == plan.NotStarted:
		case c.Kind == plan.KindParallel:
			out = append(out, shown(c)...)
		default:
			out = append(out, branch{node: c, children: shown(c)})
		}
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

func (v view) draw(out []string, bs []branch, indent string) []string {
	for i, b := range bs {
		knot, rail := "├─ ", "│  "
		if i == len(bs)-1 {
			knot, rail = "└─ ", "   "
		}
		out = append(out, v.line(indent+knot, b.node))
		out = v.draw(out, b.children, indent+rail)
	}
	return out
}

// line is one node: its symbol, name, time and what is special about it.
func (v view) line(indent string, n *execution.TreeNode) string {
	const column = 44
	text := indent + "? " + title(n)
	if n.Attempt > 1 {
		text += fmt.Sprintf(" (attempt %d)", n.Attempt)
	}
	text += strings.Repeat(" ", max(1, column-len([]rune(text))))
	text += fmt.Sprintf("%7s", v.took(n))
	if note := note(n); note != "" {
		text += "  " + note
	}
	text = v.fit(strings.TrimRight(text, " "))
	return indent + v.paint(n.Status, symbol(n.Status)) + strings.TrimPrefix(text, indent+"?")
}

func title(n *execution.TreeNode) string {
	if n.Name != "" {
		return n.Name
	}
	return n.Identifier
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
	case n.Status == plan.ApprovalWaiting:
		return "waits for approval"
	case n.Status == plan.InterventionWaiting:
		return strings.TrimSuffix("waits for a decision: "+message, ": ")
	case n.Status.Bad() && len(n.Children) == 0:
		return strings.TrimSuffix(string(n.Status)+": "+message, ": ")
	case n.Status == plan.IgnoreFailed || n.Status == plan.Skipped:
		return string(n.Status)
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
	case plan.Aborted:
		return "■"
	case plan.ApprovalWaiting, plan.InterventionWaiting:
		return "◆"
	case plan.Running, plan.TaskWaiting, plan.WaitStepRunning, plan.Queued:
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
	case s == plan.ApprovalWaiting || s == plan.InterventionWaiting || s == plan.IgnoreFailed:
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
