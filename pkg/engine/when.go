package engine

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// when decides whether a child of a container runs: the status part and the
// condition must both hold (pipeline spec §4). A node without a status part
// has Success. Conditions aren't inherited.
func (w *walk) when(n, c *plan.Node) (bool, error) {
	status, condition := "Success", ""
	if c.When != nil {
		condition = c.When.Condition
		if c.When.Status != "" {
			status = c.When.Status
		}
	}
	s := w.get(n.ID)
	if c.Kind == plan.KindParallel {
		return true, nil // a block has no condition; its members have
	}
	switch status {
	case "Success":
		if s.FailedSoFar {
			return false, nil
		}
	case "Failure":
		// An ignored failure satisfies both Success and Failure (spec §4).
		if !s.FailedSoFar && !s.IgnoredSoFar {
			return false, nil
		}
	}
	if strings.TrimSpace(condition) == "" {
		return true, nil
	}
	return w.Condition(c, condition, w.get)
}
