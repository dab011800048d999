package launch

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// frozen refuses a start that freezes leave nothing of, and records it.
func (l *Launcher) frozen(ctx context.Context, r Request, made Planned, freezes []freeze.Freeze) error {
	now := l.Now()
	open := freeze.Open(freezes, now)
	if len(open) == 0 || r.Parent.Execution != "" { // the stages of a chained one are judged by themselves
		return nil
	}
	stopped, err := l.stops(ctx, open, now, r, made)
	if err != nil || stopped == nil {
		return err
	}
	for _, m := range stopped {
		switch {
		case r.Override == "" && !r.override().Passes(m.Scope):
			return l.reject(ctx, r, audit.FreezeRejected, fault.New(fault.Frozen, "pipeline %s deploys nothing now: %s stops it", r.Pipeline, m))
		case !r.override().Passes(m.Scope):
			return l.reject(ctx, r, audit.FreezeRejected, fault.New(fault.Forbidden, "%s stops pipeline %s, and whoever starts it may only override freezes within %s", m, r.Pipeline, r.within()))
		}
	}
	return nil
}

// reject writes down that a start was refused. The same start again, by its key,
// is the same refusal.
func (l *Launcher) reject(ctx context.Context, r Request, by audit.Action, why error) error {
	rejected := r.By.Record(l.Now(), r.Scope, by, string(ref.Pipeline), r.Pipeline, fault.Told(why))
	var err error
	if r.Key == "" {
		_, err = l.Store.AppendAudit(ctx, rejected)
	} else {
		err = l.Store.AppendAuditOnce(ctx, rejected, string(by)+" "+KeyedID(r.Key), l.Now().Add(KeyKept))
	}
	if err != nil {
		return fmt.Errorf("record that a start of pipeline %s was refused: %w", r.Pipeline, err)
	}
	return why
}

// override is what a request says of freezes; nil: they count.
func (r Request) override() *store.Override {
	switch {
	case r.Inherited != nil:
		return r.Inherited
	case r.Override == "":
		return nil
	}
	return &store.Override{Reason: r.Override, Scopes: r.overrides}
}

// mayOverride are the scopes whose freezes whoever starts it may override: all
// that it may touch, or those around the pipeline where it has the permission.
func (l *Launcher) mayOverride(ctx context.Context, r Request) ([]ref.Scope, error) {
	if r.As == nil || r.Override == "" {
		return []ref.Scope{r.within()}, nil
	}
	var out []ref.Scope
	who := l.grants.Caller(*r.As, r.By.Actor)
	for _, scope := range r.Scope.Around() {
		d, err := who.Decide(ctx, action.FreezeOverride, right.Resource{Scope: scope})
		if err != nil {
			return nil, err
		}
		if d.Allowed {
			out = append(out, scope)
		}
	}
	return out, nil
}

func (r Request) pipeline() ref.Ref { return ref.Ref{Scope: r.Scope, ID: r.Pipeline} }

// Foresee says what freezes would do to a start at a time: which ones refuse it,
// and, of some deployments, which ones stop each when its stage begins then.
func (l *Launcher) Foresee(ctx context.Context, r Request, made Planned, at time.Time, deployed []freeze.Target) (refuse []freeze.Match, stop [][]freeze.Match, err error) {
	freezes, err := l.calendar.Around(ctx, r.Scope)
	if err != nil {
		return nil, nil, err
	}
	stop = make([][]freeze.Match, len(deployed))
	open := freeze.Open(freezes, at)
	if len(open) == 0 {
		return nil, stop, nil
	}
	if refuse, err = l.stops(ctx, open, at, r, made); err != nil {
		return nil, nil, err
	}
	if err = l.calendar.Typed(ctx, deployed); err != nil {
		return nil, nil, err
	}
	for i, t := range deployed {
		stop[i] = freeze.Active(open, at, t)
	}
	return refuse, stop, nil
}

// stops are the freezes that leave nothing of a start: a rule names the
// pipeline, or every stage of which it is known what it deploys is frozen. What
// others deploy is known when they begin.
func (l *Launcher) stops(ctx context.Context, open []freeze.Freeze, now time.Time, r Request, made Planned) ([]freeze.Match, error) {
	if named := freeze.Stops(open, now, r.pipeline()); len(named) > 0 {
		return named, nil
	}
	targets, err := l.targets(ctx, r, made)
	if err != nil {
		return nil, err
	}
	var all []freeze.Match
	for _, t := range targets {
		active := freeze.Active(open, now, t)
		if len(active) == 0 {
			return nil, nil
		}
		all = append(all, active...)
	}
	return all, nil
}

// targets are what a start deploys, as far as its plan knows.
func (l *Launcher) targets(ctx context.Context, r Request, made Planned) ([]freeze.Target, error) {
	p, err := plan.Decode(made.Doc)
	if err != nil {
		return nil, fmt.Errorf("decode the plan of pipeline %s: %w", r.Pipeline, err)
	}
	out := targets(p.Root, r.pipeline())
	return out, l.calendar.Typed(ctx, out)
}

// targets are what the stages below a node deploy, as far as the plan knows.
func targets(n *plan.Node, pipeline ref.Ref) []freeze.Target {
	if n.Kind != plan.KindStage {
		var out []freeze.Target
		for _, c := range n.Children {
			out = append(out, targets(c, pipeline)...)
		}
		return out
	}
	d := n.Deployment
	if d == nil || d.Late || d.Several || n.Looks {
		return nil
	}
	t, err := freeze.NewTarget(pipeline, d.ServiceRef, d.EnvironmentRef)
	if err != nil {
		return nil
	}
	return []freeze.Target{t}
}
