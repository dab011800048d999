package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// An approval with isAutoRejectEnabled (semantics/pipeline §7.7) puts itself
// on the list of those that wait at the same step of the same pipeline with
// the same services. When it is approved, those of older executions on the
// list are rejected: before its own end is stored, so that what is lost
// between the two is done again.

// enrol puts an approval on its list, if it has one. While it isn't known what
// the pipeline deploys, it can't be told which others have the same services.
func (h *Handler) enrol(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State) (plan.State, error) {
	if !s.Approval.RejectsOlder {
		return s, nil
	}
	list, known := services(snap.plan, snap.plan.Root, snap.state)
	if snap.err != nil || !known {
		return s, snap.err
	}
	slices.Sort(list)
	e := snap.execution
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(list), "\n")))
	s.Turn = fmt.Sprintf("%s/approvals/%s/%s/%s/%s/%s", e.Scope.Account, e.Scope.Org, e.Scope.Project, e.Pipeline, n.ID, hex.EncodeToString(sum[:8]))
	_, err := h.Store.TakeTurn(ctx, s.Turn, store.Holder{Execution: e.ID, Node: n.ID})
	return s, err
}

// services lists what the stages at or below a node deploy. It isn't known
// while one of them has still to choose.
func services(p *plan.Plan, n *plan.Node, state func(plan.NodeID) plan.State) (list []string, known bool) {
	children := n.Children
	switch n.Kind {
	case plan.KindStage:
		if n.Deployment == nil {
			return nil, true
		}
		s := state(n.ID)
		if d := n.Deploys(s); d != nil {
			return []string{d.ServiceRef}, true
		}
		return nil, s.Status.Terminal() // it has ended without having chosen
	case plan.KindLoop:
		s := state(n.ID)
		if s.Iterations != nil && n.Loop.Deploys {
			for _, it := range s.Iterations.List {
				list = append(list, it.Choice.Service.Ref)
			}
			return list, true
		}
		if s.Iterations != nil || s.Status.Terminal() {
			children = p.Children(n, s)
		}
	case plan.KindPipeline, plan.KindParallel, plan.KindGroup, plan.KindStep:
	}
	known = true
	for _, c := range children {
		more, ok := services(p, c, state)
		list, known = append(list, more...), known && ok
	}
	return list, known
}

// approved notes that an approval, if the step is one, has been given.
func (w *walk) approved(n *plan.Node, s plan.State, o plan.Outcome) {
	if s.Approval != nil && s.Approval.RejectsOlder && s.Turn != "" && o.Status == plan.Success {
		w.out.Approved = append(w.out.Approved, Left{Node: n.ID, Key: s.Turn})
	}
}

// rejectOlder rejects the approvals on a list that belong to executions which
// began before this one.
func (h *Handler) rejectOlder(ctx context.Context, e store.Execution, l Left) error {
	list, err := h.Store.TakeTurn(ctx, l.Key, store.Holder{Execution: e.ID, Node: l.Node})
	if err != nil {
		return err
	}
	for _, other := range list {
		if other.Execution == e.ID {
			continue
		}
		found, err := h.Store.Execution(ctx, other.Execution)
		if fault.Is(err, fault.NotFound) || err == nil && found.Sequence > e.Sequence {
			continue
		}
		if err == nil && !found.Status.Terminal() {
			err = h.reject(ctx, other, fmt.Sprintf("execution %d of the pipeline was approved", e.Sequence))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reject answers an approval that still waits, for nobody in person.
func (h *Handler) reject(ctx context.Context, at store.Holder, why string) error {
	for range maxRaces {
		nodes, err := h.Store.Nodes(ctx, at.Execution, at.Node)
		if err != nil || len(nodes) == 0 {
			return err
		}
		n := nodes[0]
		if n.State.Status != plan.ApprovalWaiting || n.State.Approval == nil || n.State.Outcome != nil {
			return nil // it has been answered
		}
		a := *n.State.Approval
		a.Activities = append(slices.Clone(a.Activities), plan.ApprovalActivity{
			User: plan.AutoRejecter, Action: plan.Reject, Comments: why, Inputs: a.Values(), At: h.Now(),
		})
		n.State.Approval = &a
		if n.State.Outcome, err = a.Outcome(); err != nil {
			return err
		}
		e, err := h.Store.Execution(ctx, at.Execution)
		if err != nil {
			return err
		}
		// The execution changes too, so that a wait that is about to begin sees it.
		record := audit.Record{
			Time: h.Now(), Scope: e.Scope, Actor: plan.AutoRejecter, Action: audit.Reject, Kind: "approval", ID: e.ID + "/" + string(n.ID), After: why,
		}
		err = h.Store.CommitExecution(ctx, at.Execution, store.Commit{Execution: &e, Nodes: []store.Node{n}, Audit: &record})
		if fault.Is(err, fault.StaleVersion) {
			continue
		}
		if err != nil || n.State.Token == "" {
			return err
		}
		h.Changed(at.Execution)
		return h.waiting.ask(ctx, n.State.Token, why)
	}
	return fmt.Errorf("lost the race for node %s %d times", at.Node, maxRaces)
}
