package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// A step that listens (EventListener) stands on the list of its webhook for as
// long as it waits. An event is judged by each step on the list; one that it
// ends takes itself off.

// listenKey is the list of a project's webhook.
func listenKey(scope ref.Scope, webhook string) string {
	return fmt.Sprintf("%s/listen/%s/%s/%s", scope.Account, scope.Org, scope.Project, webhook)
}

// listen puts a step on its webhook's list; its machine run then waits.
func (h *Handler) listen(ctx context.Context, snap *snapshot, n *plan.Node, s plan.State, webhook string) (plan.State, error) {
	s.Wait, s.Status, s.Turn = plan.WaitEvent, plan.WaitStepRunning, listenKey(snap.execution.Scope, webhook)
	_, err := h.Store.TakeTurn(ctx, s.Turn, store.Holder{Execution: snap.execution.ID, Node: n.ID})
	return s, err
}

// Heard is a step that an event has come to.
type Heard struct {
	Execution string      `json:"execution"`
	Node      plan.NodeID `json:"node"`
	Ended     bool        `json:"ended"` // the event has met one of its criteria
}

// Hear gives an event, a document of its own for expressions, to the steps
// that listen to a project's webhook. The same event again finds those that
// it has ended no more.
func (h *Handler) Hear(ctx context.Context, scope ref.Scope, webhook string, event json.RawMessage) ([]Heard, error) {
	key := listenKey(scope, webhook)
	list, err := h.Store.EndTurn(ctx, key, store.Holder{}) // nobody leaves: it is read
	if err != nil {
		return nil, err
	}
	var out []Heard
	for _, at := range list {
		heard, ended, err := h.hear(ctx, at, key, event)
		if err != nil {
			return nil, fmt.Errorf("tell step %s of execution %s: %w", at.Node, at.Execution, err)
		}
		if heard {
			out = append(out, Heard{Execution: at.Execution, Node: at.Node, Ended: ended})
		}
	}
	return out, nil
}

// hear lets a step judge an event; heard is false if it doesn't wait any more.
func (h *Handler) hear(ctx context.Context, at store.Holder, key string, event json.RawMessage) (heard, ended bool, err error) {
	for range maxRaces {
		heard, ended, err = h.hearOnce(ctx, at, key, event)
		if !fault.Is(err, fault.StaleVersion) {
			return heard, ended, err
		}
	}
	return false, false, fmt.Errorf("lost the race for its state %d times", maxRaces)
}

func (h *Handler) hearOnce(ctx context.Context, at store.Holder, key string, event json.RawMessage) (heard, ended bool, err error) {
	snap, err := h.Reader.snapshot(ctx, at.Execution)
	if fault.Is(err, fault.NotFound) {
		return false, false, nil
	}
	if err != nil {
		return false, false, err
	}
	n, s := snap.plan.Node(at.Node), snap.state(at.Node)
	if snap.err != nil || n == nil {
		return false, false, snap.err
	}
	if s.Wait != plan.WaitEvent || s.Status.Terminal() || s.Outcome != nil || s.Turn != key {
		return false, false, nil
	}
	o := h.Reader.judge(snap, n, s, event)
	if snap.err != nil {
		return false, false, snap.err
	}
	token, e := s.Token, snap.execution
	if o.Again > 0 {
		if s.Message == o.Message {
			return true, false, nil
		}
		s.Message, token = o.Message, ""
	} else {
		s.Outcome = &o
	}
	// The execution changes too, so that a wait that is about to begin sees it.
	if err := h.Store.CommitExecution(ctx, e.ID, store.Commit{Execution: &e, Nodes: []store.Node{snap.node(n.ID, s)}}); err != nil {
		return false, false, err
	}
	h.Changed(e.ID)
	if token != "" {
		err = h.waiting.ask(ctx, token, "an event has come")
	}
	return true, s.Outcome != nil, err
}

// judge asks a step's type what an event means to it.
func (r *Reader) judge(snap *snapshot, n *plan.Node, s plan.State, event json.RawMessage) plan.Outcome {
	return r.finish(snap, n, s.Attempt, task.Result{Status: task.Succeeded, Outputs: event}, nil)
}
