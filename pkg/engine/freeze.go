package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Deployment freezes (semantics/entities §15) are asked for when a Deployment
// stage begins: when its plan says what it deploys, else when it has chosen.
// The iterations of a loop are judged together, before the first, and those
// that choose by themselves as of then: who has begun finishes. What rolls back
// is never held up.

// Frozen is what deployment freezes mean for a stage that is about to begin.
type Frozen struct {
	Node   plan.NodeID
	Stops  string // why it doesn't begin; empty: it does
	Passes string // in spite of what it begins; empty: there is nothing
}

// record is what the audit trail has of it.
func (f Frozen) record(e store.Execution, now time.Time) audit.Record {
	r := audit.Record{Time: now, Actor: e.Actor, Scope: e.Scope, Action: audit.FreezeRejected, Kind: "execution", ID: e.ID}
	if r.After = fmt.Sprintf("%s: %s", f.Node, f.Stops); f.Stops == "" {
		r.Action, r.After = audit.FreezeOverridden, fmt.Sprintf("%s: %s: %s", f.Node, f.Passes, e.Override.Reason)
	}
	return r
}

// key is under which it is recorded once.
func (f Frozen) key(e store.Execution) string { return fmt.Sprintf("freeze %s %s", e.ID, f.Node) }

// admission is the walk where it lets stages begin.
type admission struct{ w *walk }

// admitted judges a stage that begins, or a loop of one, if its plan says what
// it deploys.
func (a admission) admitted(n *plan.Node, s plan.State) plan.State {
	stage := n
	if n.Kind == plan.KindLoop {
		stage = n.Children[0]
	}
	switch {
	case stage.Kind != plan.KindStage || stage.Deployment == nil || stage.Looks:
		return s
	case n == stage && n.Parent().Kind == plan.KindLoop: // it has been judged with the others
		return s
	case stage.Deployment.Late && (n == stage || !n.Loop.Deploys): // nobody knows yet
		return s
	}
	return a.frozen(n, s)
}

// frozen ends a stage, or a loop of one, that a freeze doesn't let begin.
func (a admission) frozen(n *plan.Node, s plan.State) plan.State {
	if a.w.Frozen == nil || a.w.Undoes || s.Status.Terminal() || n.Looks {
		return s
	}
	f, err := a.w.Frozen(n, s, a.w.states.since(n, a.w.Now))
	switch {
	case err != nil:
		return a.w.undecided(n, s, err)
	case f.Stops == "" && f.Passes == "":
		return s
	}
	f.Node = n.ID
	a.w.out.Frozen = append(a.w.out.Frozen, f)
	if f.Stops != "" {
		s.Status, s.EndedAt, s.Wait = plan.AbortedByFreeze, a.w.Now, plan.WaitWork
		s.Message = f.Stops
	}
	return s
}

// since is when a node begins: with the outermost loop around it, else now.
func (d *states) since(n *plan.Node, now time.Time) time.Time {
	at := now
	for p := n.Parent(); p != nil && p.Kind == plan.KindLoop; p = p.Parent() {
		at = d.get(p.ID).StartedAt
	}
	return at
}

// frozen finds the freezes that are active for what a stage deploys, or one of
// the iterations of a loop.
func (s *snapshot) frozen(n *plan.Node, state plan.State, at time.Time) (Frozen, error) {
	if err := s.permitted(n, state); err != nil {
		return Frozen{}, err
	}
	if s.execution.Preview {
		return Frozen{}, nil
	}
	if !s.dated {
		var err error
		if s.freezes, err = s.r.calendar.Around(s.ctx, s.execution.Scope); err != nil {
			s.keep(err)
			return Frozen{}, err
		}
		s.dated = true
	}
	open := freeze.Open(s.freezes, at)
	if len(open) == 0 {
		return Frozen{}, nil
	}
	targets, err := s.targets(n, state)
	if err != nil {
		return Frozen{}, err
	}
	var f Frozen
	for _, t := range targets {
		var passed []string
		for _, m := range freeze.Active(open, at, t) {
			if !s.execution.Override.Passes(m.Scope) {
				f.Stops = fmt.Sprintf("%s stops service %s in environment %s", m, t.Service.ID, t.Environment.ID)
				return f, nil
			}
			passed = append(passed, m.String())
		}
		if f.Passes == "" {
			f.Passes = strings.Join(passed, ", ")
		}
	}
	return f, nil
}

// targets are what a stage deploys where, or all iterations of a loop of one.
func (s *snapshot) targets(n *plan.Node, state plan.State) ([]freeze.Target, error) {
	var out []freeze.Target
	add := func(service, environment string) error {
		t, err := freeze.NewTarget(ref.Ref{Scope: s.execution.Scope, ID: s.execution.Pipeline}, service, environment)
		out = append(out, t)
		return err
	}
	if n.Kind == plan.KindLoop && n.Loop.Deploys {
		for _, it := range state.Iterations.List {
			if err := add(it.Choice.Service.Ref, it.Choice.Environment.Ref); err != nil {
				return nil, err
			}
		}
	} else {
		stage := n
		if n.Kind == plan.KindLoop {
			stage = n.Children[0]
		}
		d := stage.Deploys(state)
		if err := add(d.ServiceRef, d.EnvironmentRef); err != nil {
			return nil, err
		}
	}
	if err := s.r.calendar.Typed(s.ctx, out); err != nil {
		s.keep(err)
		return nil, err
	}
	return out, nil
}
