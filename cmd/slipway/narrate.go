package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// narrator tells of an execution in plain lines, one for each change, for
// logs and pipes.
type narrator struct {
	told  map[plan.NodeID]string
	start time.Time
}

// lines tells what is new in a tree since the last one: how nodes began, from
// the outside to the inside, and how they ended, from the inside to the outside.
func (r *narrator) lines(t api.ExecutionTree) []string {
	var out []string
	if r.told == nil {
		r.told, r.start = map[plan.NodeID]string{}, t.StartedAt
		out = append(out, fmt.Sprintf("execution %s of pipeline %s, run #%d", t.ID, t.Pipeline, t.Sequence))
	}
	for _, c := range t.Root.Children {
		out = r.tell(out, c, "")
	}
	if t.Status.Terminal() {
		out = r.rest(out, t.Root, "")
	}
	return out
}

func (r *narrator) tell(out []string, n *execution.TreeNode, above string) []string {
	name := above
	loop := n.Kind == plan.KindLoop && (len(n.Children) > 0 || n.Hidden != nil) // its iterations say it all
	if n.Kind != plan.KindParallel && !loop {
		name = strings.TrimPrefix(above+"/"+n.Identifier, "/")
	}
	over := n.Status.Terminal()
	if !over && !loop {
		out = r.line(out, n, name)
	}
	for _, c := range n.Children {
		out = r.tell(out, c, name)
	}
	if over {
		out = r.rest(out, n, name)
	}
	if over && !loop {
		out = r.line(out, n, name)
	}
	return out
}

// rest tells once of the nodes below an ended one that aren't shown.
func (r *narrator) rest(out []string, n *execution.TreeNode, name string) []string {
	key := n.ID + "+"
	if n.Hidden == nil || r.told[key] != "" {
		return out
	}
	r.told[key] = more(n.Hidden)
	return append(out, strings.TrimRight(fmt.Sprintf("%6s  %s  %s", "", name, r.told[key]), " "))
}

func (r *narrator) line(out []string, n *execution.TreeNode, name string) []string {
	state := phase(n)
	if n.Kind == plan.KindParallel || n.Status == plan.NotStarted || r.told[n.ID] == state {
		return out
	}
	r.told[n.ID] = state
	at := n.StartedAt
	if !n.EndedAt.IsZero() {
		at = n.EndedAt
	}
	line := fmt.Sprintf("%6s  %s  %s", r.clock(at), name, state)
	if !n.EndedAt.IsZero() && !n.StartedAt.IsZero() {
		line += " in " + span(n.EndedAt.Sub(n.StartedAt))
	}
	if message, _, _ := strings.Cut(n.Message, "\n"); message != "" && len(n.Children) == 0 {
		line += ": " + message
	}
	return append(out, line)
}

// phase is a node's status as far as it is news: that a delegate has taken
// a step's task isn't.
func phase(n *execution.TreeNode) string {
	s := string(n.Status)
	switch n.Status {
	case plan.TaskWaiting, plan.Queued, plan.WaitStepRunning:
		s = string(plan.Running)
	default:
	}
	if n.Attempt > 1 {
		s += fmt.Sprintf(" (attempt %d)", n.Attempt)
	}
	return s
}

// clock is a time since the execution's start, e.g. "1:04"; empty for what
// never began.
func (r *narrator) clock(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	s := int(max(at.Sub(r.start), 0).Seconds())
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
