package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
)

// sessionOf is the one of a step's group or stage: that which it opens itself, or
// that which was opened before it.
func sessionOf(steps map[string]step.Type, snap *snapshot, n *plan.Node, attempt int) (*step.Session, error) {
	open := n
	if n.Type != plan.TypeSession {
		if open = n.Session(); open == nil {
			return nil, nil //nolint:nilnil // a step that has none
		}
	}
	of := open.Parent()
	out := &step.Session{Execution: snap.execution.ID, Node: of.ID, Tools: append(toolsOf(steps, of, open), open.Needs...)}
	s := snap.state(open.ID)
	if n.Type == plan.TypeSession {
		out.ID = sessionID(snap.execution.ID, n.ID, attempt)
		return out, nil
	}
	if len(s.Outputs) == 0 {
		return out, nil
	}
	var found struct {
		Output task.Opened `json:"output"`
	}
	if err := json.Unmarshal(s.Outputs, &found); err != nil {
		return nil, fmt.Errorf("decode the session of %s: %w", n.ID, err)
	}
	out.ID, out.Machine = found.Output.ID, found.Output.Machine
	return out, nil
}

// toolsOf are those of all steps that a session is opened for.
func toolsOf(steps map[string]step.Type, of, open *plan.Node) []string {
	list := of.Children
	if slices.ContainsFunc(of.Rollback, func(c *plan.Node) bool { return c.ID == open.ID }) {
		list = of.Rollback
	}
	var out []string
	var walk func(list []*plan.Node)
	walk = func(list []*plan.Node) {
		for _, c := range list {
			if c.Parent().ID == of.ID && c.Provisions != open.Provisions {
				continue
			}
			if tool := steps[c.Type].Tool; c.Kind == plan.KindStep && tool != "" && !slices.Contains(out, tool) {
				out = append(out, tool)
			}
			if !slices.ContainsFunc(c.Children, func(g *plan.Node) bool { return g.Type == plan.TypeSession }) {
				walk(c.Children)
				walk(c.Rollback)
			}
		}
	}
	walk(list)
	return out
}

// sessionID names the session that an attempt at opening it makes: made again, it
// is the same.
func sessionID(execution string, n plan.NodeID, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", execution, n, attempt))
	return hex.EncodeToString(sum[:8])
}
