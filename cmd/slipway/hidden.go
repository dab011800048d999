package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
)

// partFlags say which nodes are wanted, where one answer can't have them all.
func partFlags(flags *pflag.FlagSet, p *apiclient.Part) {
	flags.StringVar(&p.Node, "node", "", "only this node and what is below it: its id, or its identifier where only one has it")
	flags.IntVar(&p.From, "from", 0, "leave out so many of its children: for the rest of what isn't shown")
}

// more says how many nodes aren't shown and what has become of them, e.g.
// "… and 18,000 more (12,000 Success, 6,000 Failed)".
func more(h *execution.Hidden) string {
	var parts []string
	for _, s := range plan.Statuses() {
		if n := h.Statuses[s]; n > 0 {
			parts = append(parts, thousands(n)+" "+string(s))
		}
	}
	text := "… and " + thousands(h.Nodes) + " more"
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text
}

// thousands writes a number with its groups, e.g. 18,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// rest is how to see nodes that aren't shown: those below the first node that
// has any; empty if all are shown.
func rest(t api.ExecutionTree) string {
	text := ""
	walk(t.Root, func(n *execution.TreeNode) {
		if text == "" && n.Hidden != nil {
			text = printable.Line(fmt.Sprintf("see more with: slipway executions get %s --node %s --from %d", t.ID, n.ID, n.Hidden.From))
		}
	})
	return text
}

// unseen counts the nodes that aren't shown and have a status that is asked for.
func unseen(t api.ExecutionTree, asked func(plan.Status) bool) int {
	sum := 0
	walk(t.Root, func(n *execution.TreeNode) {
		if n.Hidden == nil {
			return
		}
		for s, count := range n.Hidden.Statuses {
			if asked(s) {
				sum += count
			}
		}
	})
	return sum
}

// forPeople says whether a node waits for somebody.
func forPeople(s plan.Status) bool {
	return s == plan.ApprovalWaiting || s == plan.InputWaiting || s == plan.InterventionWaiting
}
