package catalog

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// quotas are how many documents of a kind a scope has: of those that are all read at once,
// for requests, logins or decisions.
func quotas() map[ref.Kind]int {
	return map[ref.Kind]int{ref.User: 5000, ref.Policy: 500, ref.IPAllowlist: 100, ref.StreamingDestination: 10}
}

// keepsRoom refuses new documents for which a scope has no room. Those that there are may
// always be changed, also where there are more by now than there may be.
func keepsRoom(ctx context.Context, c *Catalog, changes ...prepared) error {
	type place struct {
		scope ref.Scope
		kind  ref.Kind
	}
	added := map[place]int{}
	for _, p := range changes {
		if p.entity != nil && p.change == Created && quotas()[p.next.Key.Kind] > 0 {
			added[place{p.next.Key.Scope, p.next.Key.Kind}]++
		}
	}
	for at, more := range added {
		if err := roomFor(ctx, c, at.scope, at.kind, more); err != nil {
			return err
		}
	}
	return nil
}

func roomFor(ctx context.Context, c *Catalog, scope ref.Scope, kind ref.Kind, more int) error {
	most, there := quotas()[kind], 0
	if err := c.each(ctx, scope, kind, "", func(store.Entity) { there++ }); err != nil {
		return err
	}
	if there+more > most {
		return fault.New(fault.TooLarge, "%s has %d documents of the kind %s, and with %d more it would have over %d, which is the limit; delete some first", scope, there, kind, more, most)
	}
	return nil
}
