package engine

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// when decides whether a child of a container runs: the status part and the
// condition must both hold (semantics/pipeline §4). A node without a status
// part has Success. Conditions aren't inherited.
func (w *walk) when(n, c *plan.Node) (bool, error) {
	if c.Kind == plan.KindParallel {
		return true, nil // a block has no condition; its members have
	}
	if !statusFits(w.states.get(n.ID), c) {
		return false, nil
	}
	if c.When == nil || strings.TrimSpace(c.When.Condition) == "" {
		return true, nil
	}
	return w.Condition(c, c.When.Condition, w.states.get)
}

// statusFits decides the status part of a condition, over the state of the
// container.
func statusFits(s plan.State, c *plan.Node) bool {
	status := "Success"
	if c.When != nil && c.When.Status != "" {
		status = c.When.Status
	}
	switch status {
	case "Success":
		return !s.FailedSoFar
	case "Failure":
		// An ignored failure satisfies both Success and Failure
		// (semantics/pipeline §4).
		return s.FailedSoFar || s.IgnoredSoFar
	}
	return true
}
