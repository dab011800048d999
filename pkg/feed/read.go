package feed

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Reader makes events of changes. It is for many goroutines.
type Reader struct {
	executions store.Executions
	plan       func(ctx context.Context, hash string) (*plan.Plan, error)

	mu    sync.Mutex
	known map[string]store.Execution // of what never changes of them
}

// NewReader makes a Reader; plan gives a plan by its hash.
func NewReader(executions store.Executions, plan func(ctx context.Context, hash string) (*plan.Plan, error)) *Reader {
	return &Reader{executions: executions, plan: plan, known: map[string]store.Execution{}}
}

// Events are what a change means; most mean nothing to others.
func (r *Reader) Events(ctx context.Context, c store.Change) ([]Event, error) {
	switch {
	case c.Execution != nil && c.Execution.Preview:
		return nil, nil // it is nobody's but theirs who asked
	case c.Execution != nil:
		return ofExecution(c), nil
	case c.Node != nil:
		return r.ofNode(ctx, c)
	case c.Fire != nil:
		return ofFire(c), nil
	case c.Audit != nil:
		if t, status := interrupt(c.Audit.Action); t != "" {
			return r.ofInterrupt(ctx, c, t, status)
		}
		return ofAudit(c), nil
	}
	return nil, nil
}

func ofExecution(c store.Change) []Event {
	e := c.Execution
	d := about(*e)
	d.Status, d.StartedAt = e.Status, e.StartedAt
	switch {
	case e.Status.Terminal():
		d.Message, d.EndedAt = short(e.Message), e.EndedAt
		return []Event{event(ExecutionEnded, c, d, e.ID, e.Version)}
	case c.Before == "":
		return []Event{event(ExecutionStarted, c, d, e.ID, e.Version)}
	}
	return nil
}

// ofNode is what a stage's or a step's change means. Groups and parallel
// blocks are how a pipeline is written, and no event. Nor is what an execution
// takes over from an earlier one, which has told of it; a rollback of it is.
func (r *Reader) ofNode(ctx context.Context, c store.Change) ([]Event, error) {
	if c.Node.State.Inherited && c.Before == "" {
		return nil, nil
	}
	moments := momentsOf(c.Before, c.Node.State.Status)
	if len(moments) == 0 {
		return nil, nil
	}
	e, err := r.execution(ctx, c.Node.Execution)
	if err != nil || e.Preview {
		return nil, err
	}
	p, err := r.plan(ctx, e.PlanHash)
	if err != nil {
		return nil, fmt.Errorf("read the plan of execution %s: %w", e.ID, err)
	}
	n := p.Node(c.Node.ID)
	if n == nil || n.Kind != plan.KindStage && n.Kind != plan.KindStep {
		return nil, nil
	}
	s := c.Node.State
	d := about(e)
	d.Status, d.StartedAt, d.Stage = s.Status, s.StartedAt, nodeOf(n.Stage())
	if n.Kind == plan.KindStep {
		d.Step = nodeOf(n)
	}
	var list []Event
	for _, m := range moments {
		d := d
		switch m {
		case ended:
			d.Message, d.EndedAt = short(s.Message), s.EndedAt
		case asks:
			if s.Approval != nil {
				d.Message = short(s.Approval.Message)
			}
		case started, intervenes, wants:
		}
		if t := m.of(n.Kind); t != "" {
			list = append(list, event(t, c, d, e.ID+"/"+string(n.ID), c.Node.Version))
		}
	}
	return list, nil
}

// moment is what becomes of a stage or a step.
type moment int

const (
	started moment = iota
	ended
	asks       // for an approval
	intervenes // waits for a person after a failure
	wants      // waits for inputs
)

// momentsOf says what becomes of a node by its status before and after.
func momentsOf(before, after plan.Status) []moment {
	begun := func(s plan.Status) bool { return s != "" && s != plan.NotStarted && s != plan.Queued }
	if after.Terminal() {
		return []moment{ended}
	}
	var list []moment
	if !begun(before) && begun(after) {
		list = append(list, started)
	}
	switch after { //nolint:exhaustive // the others are nobody's business
	case plan.ApprovalWaiting:
		list = append(list, asks)
	case plan.InterventionWaiting:
		list = append(list, intervenes)
	case plan.InputWaiting:
		if before != after { // not again when its wait is noted
			list = append(list, wants)
		}
	}
	return list
}

// of is the event's type for a kind of node; empty for none.
func (m moment) of(k plan.Kind) Type {
	stage := k == plan.KindStage
	switch m {
	case started:
		if stage {
			return StageStarted
		}
		return StepStarted
	case ended:
		if stage {
			return StageEnded
		}
		return StepEnded
	case asks:
		if !stage {
			return ApprovalWaiting
		}
	case intervenes:
		if !stage {
			return InterventionWaiting
		}
	case wants:
		return InputWaiting
	}
	return ""
}

// interrupt is the type of event of a person's pausing an execution or letting
// it go on, with the status that it has then; empty for other actions.
func interrupt(a audit.Action) (Type, plan.Status) {
	switch a { //nolint:exhaustive // the others are no interrupts, or events of their own
	case audit.Pause:
		return ExecutionPaused, plan.Paused
	case audit.Resume:
		return ExecutionResumed, plan.Running
	}
	return "", ""
}

func (r *Reader) ofInterrupt(ctx context.Context, c store.Change, t Type, status plan.Status) ([]Event, error) {
	e, err := r.execution(ctx, c.Audit.ID)
	if err != nil || e.Preview {
		return nil, err
	}
	d := about(e)
	d.Actor, d.Status, d.StartedAt = c.Audit.Actor, status, e.StartedAt
	return []Event{event(t, c, d, c.Audit.Scope.Account, c.Audit.Sequence)}, nil
}

// ofFire is what a trigger's event means that started nothing.
func ofFire(c store.Change) []Event {
	f := c.Fire
	s := f.Trigger.Scope
	e := event(TriggerFailed, c, Detail{
		Account: s.Account, Org: s.Org, Project: s.Project, Pipeline: f.Trigger.Env, Message: short(f.Reason),
		Trigger: &Trigger{ID: f.Trigger.ID, Event: f.ID},
	}, fmt.Sprintf("%s/%s/%s", s, f.Trigger.Env, f.Trigger.ID), f.At.UnixMilli())
	e.Detail.ID += "/" + f.ID
	return []Event{e}
}

// ofAudit is what a record of an entity's change means.
func ofAudit(c store.Change) []Event {
	a := c.Audit
	d := Detail{
		Account: a.Scope.Account, Org: a.Scope.Org, Project: a.Scope.Project, Actor: a.Actor,
		Entity: &Entity{Kind: a.Kind, ID: a.ID, New: a.Action == audit.Create},
	}
	switch a.Action { //nolint:exhaustive // the others are no entity's
	case audit.Create, audit.Update:
		return []Event{event(EntitySaved, c, d, a.Scope.Account, a.Sequence)}
	case audit.Delete:
		return []Event{event(EntityDeleted, c, d, a.Scope.Account, a.Sequence)}
	}
	return nil
}

// event gives an event its id, which is made of what changed and the version
// that it got.
func event(t Type, c store.Change, d Detail, what string, version int64) Event {
	d.ID = fmt.Sprintf("%s/%d/%s", what, version, strings.ReplaceAll(strings.ToLower(string(t)), " ", "-"))
	return Event{Type: t, At: c.At, Detail: d}
}

// about is what all events of an execution say.
func about(e store.Execution) Detail {
	return Detail{
		Account: e.Scope.Account, Org: e.Scope.Org, Project: e.Scope.Project, Actor: e.Actor,
		Execution: e.ID, Pipeline: e.Pipeline, PipelineName: e.Name, Sequence: e.Sequence,
	}
}

func nodeOf(n *plan.Node) *Node {
	if n == nil {
		return nil
	}
	return &Node{Node: n.ID, ID: n.Identifier, Name: n.Name, Type: n.Type}
}

// execution reads one for what never changes of it.
func (r *Reader) execution(ctx context.Context, id string) (store.Execution, error) {
	r.mu.Lock()
	e, ok := r.known[id]
	r.mu.Unlock()
	if ok {
		return e, nil
	}
	e, err := r.executions.Execution(ctx, id)
	if err != nil {
		return store.Execution{}, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= 1000 {
		clear(r.known)
	}
	r.known[id] = e
	return e, nil
}

// longest is how much of a message goes into an event, in bytes: ten events
// with it fit into the 256 KB of a call of EventBridge, even if JSON takes six
// bytes for each.
const longest = 2048

func short(message string) string {
	if len(message) <= longest {
		return message
	}
	cut := longest - len("…")
	for !utf8.RuneStart(message[cut]) {
		cut--
	}
	return message[:cut] + "…"
}
