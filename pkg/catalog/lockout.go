package catalog

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// keeps refuses changes for which there is no room, or that settings don't allow, and those after which an account had
// nobody who could mend them: no administrator, or none that is let in.
func keeps(ctx context.Context, c *Catalog, account string, by *grants.Caller, changes ...prepared) error {
	if err := c.keepsAdmin(ctx, account, changes...); err != nil {
		return err
	}
	if err := keepsRoom(ctx, c, changes...); err != nil {
		return err
	}
	if err := keepsSettings(ctx, c, account, by, changes...); err != nil {
		return err
	}
	return letsIn(ctx, c, account, by, changes...)
}

// letsIn refuses changes of IP allow lists that keep out who makes them, wherever that
// is. What has a next version is saved, what has none is deleted.
func letsIn(ctx context.Context, c *Catalog, account string, by *grants.Caller, changes ...prepared) error {
	changed := map[store.EntityKey]*allowlist.List{}
	for _, p := range changes {
		switch {
		case p.entity != nil && p.entity.Kind == ref.IPAllowlist:
			changed[p.next.Key] = p.entity.IPAllowlist
		case p.entity == nil && p.stored.Key.Kind == ref.IPAllowlist:
			changed[p.stored.Key] = nil
		}
	}
	if len(changed) == 0 || by == nil || by.Origin() == (allowlist.Origin{}) {
		return nil
	}
	var lists []allowlist.List
	for _, l := range changed {
		if l != nil {
			lists = append(lists, *l)
		}
	}
	err := c.each(ctx, ref.Scope{Account: account}, ref.IPAllowlist, "", func(saved store.Entity) {
		if _, other := changed[saved.Key]; !other {
			lists = append(lists, grants.ListOf(saved))
		}
	})
	from := by.Origin()
	if err != nil || allowlist.Admitted(lists, from) {
		return err
	}
	return fault.New(fault.Conflict, "this would keep you out: you come from %s, which no IP allow list in force for %s would have; save one with it first, or with this", from.Shown(), from.Source)
}
