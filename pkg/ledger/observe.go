package ledger

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Observe takes in what a delegate sees of a placement that it watches. For
// one that isn't its to watch any more it is fault.LeaseLost.
func (l *Ledger) Observe(ctx context.Context, d store.Delegate, o task.Observed) error {
	k, err := parseWatchID(o.ID)
	if err != nil {
		return err
	}
	if k.Scope.Account != d.Scope.Account || !d.Scope.Covers(k.Scope) {
		return fault.New(fault.Forbidden, "delegate %s isn't for %s", d.Name, k.Scope)
	}
	return l.change(ctx, k, func(p *store.Placement) (*store.Moment, bool, error) {
		if p.Version == 0 || p.Watcher != d.ID || p.Fence != o.Fence {
			return nil, false, fault.New(fault.LeaseLost, "delegate %s doesn't watch %s in %s with fence %d", d.Name, k.Service, k.Environment, o.Fence)
		}
		if wanted, err := l.wanted(ctx, *p); err != nil || !wanted {
			if err == nil {
				err = l.forget(ctx, *p)
			}
			return nil, false, err
		}
		before := *p
		if !l.see(p, o) {
			return nil, false, nil
		}
		if sameCounts(before, *p) {
			return nil, true, nil
		}
		m := moment(*p, "observed", l.Now())
		return &m, true, nil
	})
}

// see changes what is seen of a placement; false: nothing has changed.
func (l *Ledger) see(p *store.Placement, o task.Observed) bool {
	if o.Trouble != "" {
		known := p.Seen.Trouble == o.Trouble
		p.Seen.Trouble = o.Trouble
		return !known
	}
	p.Seen.Instances, p.Seen.Workloads, p.Seen.At, p.Seen.Trouble = ordered(o.Instances), o.Workloads, l.Now(), ""
	adopt(&p.Deployed, o.Workloads)
	l.counted(p)
	return true
}

// wanted says whether a placement is to be watched on: not if nothing has run
// there for long, nor once its service or its environment is deleted
// (semantics/entities §14).
func (l *Ledger) wanted(ctx context.Context, p store.Placement) (bool, error) {
	if !Live(p, l.Now()) {
		return false, nil
	}
	for kind, name := range map[ref.Kind]string{ref.Service: p.Key.Service, ref.Environment: p.Key.Environment} {
		r, err := ref.Parse(name, p.Key.Scope)
		if err != nil {
			return false, err
		}
		_, err = l.Store.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: kind, ID: r.ID})
		if fault.Is(err, fault.NotFound) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// forget takes a placement out of the ledger.
func (l *Ledger) forget(ctx context.Context, p store.Placement) error {
	if err := l.Store.DeletePlacement(ctx, p.Key, p.Version); err != nil {
		return err
	}
	return fault.New(fault.LeaseLost, "%s in %s isn't watched any more", p.Key.Service, p.Key.Environment)
}
