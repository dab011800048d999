package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Mark ends running steps by a person's word (semantics/pipeline §5.6): as
// Failed, with a failure that strategies know, or a Wait step as Success. A
// container stands for all steps that run in it. fault.Conflict if nothing
// does.
func (h *Handler) Mark(ctx context.Context, id string, node plan.NodeID, as plan.Status, a audit.Record) error {
	snap, err := h.Reader.snapshot(ctx, id)
	if err != nil {
		return err
	}
	target := snap.plan.Node(node)
	if target == nil {
		return fault.New(fault.NotFound, "execution %s has no node %s", id, node)
	}
	if as == plan.Success && !h.Reader.steps[target.Type].Endable {
		return fault.New(fault.Invalid, "only a %s step can be marked as a success; %s is a %s", h.endable(), node, what(target))
	}
	nodes, err := h.Store.AllNodes(ctx, id)
	if err != nil {
		return err
	}
	marked := 0
	for _, n := range nodes {
		if !below(snap.plan.Node(n.ID), target) || !markable(n.State) {
			continue
		}
		did, err := h.mark(ctx, n, as, a)
		if err != nil {
			return err
		}
		marked += did
	}
	if marked == 0 {
		return fault.New(fault.Conflict, "%s has no step that runs", node)
	}
	return nil
}

// endable names the step types that a person may end as a success.
func (h *Handler) endable() string {
	var names []string
	for _, t := range h.Steps {
		if t.Endable {
			names = append(names, t.Name)
		}
	}
	return strings.Join(names, " or ")
}

func what(n *plan.Node) string {
	if n.Kind == plan.KindStep {
		return n.Type + " step"
	}
	return string(n.Kind)
}

// markable says whether a step is at its own work.
func markable(s plan.State) bool {
	work := []plan.Wait{plan.WaitWork, plan.WaitLook, plan.WaitBarrier, plan.WaitEvent}
	return s.Attempt > 0 && !s.Status.Terminal() && s.Outcome == nil && slices.Contains(work, s.Wait)
}

// mark gives a running step its outcome; how many steps that were. The engine
// cancels its task when it sees the outcome.
func (h *Handler) mark(ctx context.Context, n store.Node, as plan.Status, a audit.Record) (int, error) {
	for range maxRaces {
		o := plan.Outcome{Status: as, Message: "marked as failed by " + a.Actor, Failures: []fault.FailureType{fault.UserMarkedFailure}, Marked: true}
		if as == plan.Success {
			o = plan.Outcome{Status: as, Message: "marked as a success by " + a.Actor, Outputs: n.State.Outputs, Marked: true}
		}
		e, err := h.Store.Execution(ctx, n.Execution)
		if err != nil {
			return 0, err
		}
		id := TaskID(n.Execution, n.ID, n.State.Attempt, n.State.Look)
		n.State.Outcome = &o
		if n.State.Wait != plan.WaitEvent {
			n.State.Wait = plan.WaitWork
		}
		// The execution changes too, so that a wait that is about to begin sees it.
		err = h.Store.CommitExecution(ctx, n.Execution, store.Commit{Execution: &e, Nodes: []store.Node{n}, Audit: &a})
		if err == nil {
			h.Changed(n.Execution)
			return 1, h.answerWork(ctx, n.State.Token, id)
		}
		if !fault.Is(err, fault.StaleVersion) {
			return 0, err
		}
		found, err := h.Store.Nodes(ctx, n.Execution, n.ID)
		if err != nil || len(found) == 0 || !markable(found[0].State) {
			return 0, err // it has ended by itself
		}
		n = found[0]
	}
	return 0, fmt.Errorf("lost the race for node %s %d times", n.ID, maxRaces)
}

// answerWork has the run ask that waits for a step's own work: by its token, or by that of
// its task, if it has one yet.
func (h *Handler) answerWork(ctx context.Context, token string, id task.ID) error {
	if token == "" {
		t, err := h.Store.Task(ctx, id)
		if fault.Is(err, fault.NotFound) || err == nil && t.Token == "" {
			return nil
		}
		if err != nil {
			return err
		}
		token = t.Token
	}
	return h.waiting.ask(ctx, token, "its step was ended")
}
