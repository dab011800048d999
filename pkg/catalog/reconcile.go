package catalog

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reconciled is an input set without what its pipeline no longer has.
type Reconciled struct {
	Key           store.EntityKey
	Before, After string
	Dropped       []fault.Detail // places in Before
	Version       int64          // stored now
}

// Reconcile drops from an input set what its pipeline has no input for, and
// from an overlay the sets that don't exist (semantics/pipeline §2.4). Values
// that aren't allowed stay: only a person knows better ones. With save it is
// stored, else only shown.
func (c *Catalog) Reconcile(ctx context.Context, scope ref.Scope, pipeline, id string, save bool, by audit.Author) (Reconciled, error) {
	e, err := Find(c.Store.Entity).inputSet(ctx, scope, pipeline, id)
	if err != nil {
		return Reconciled{}, err
	}
	r := Reconciled{Key: e.Key, Before: string(e.YAML), After: string(e.YAML), Version: e.Version}
	whole, set, err := documentOf(e.Key, e.YAML)
	if err != nil {
		return r, err
	}
	gone, err := c.strays(ctx, e.Key, set, &r)
	if err != nil || len(gone) == 0 {
		return r, err
	}
	after, err := yamldoc.Drop(e.YAML, whole, func(n *yamldoc.Node) bool { return gone[n] })
	if err != nil {
		return r, err
	}
	r.After = string(after)
	act := c.Check
	if save {
		act = func(ctx context.Context, d Draft) (Result, error) { return c.Save(ctx, d, by) }
	}
	saved, err := act(ctx, Draft{Scope: scope, YAML: after, Version: e.Version})
	if err == nil {
		r.Version = saved.Version
	}
	return r, err
}

// strays are the parts of a set that are to go; it notes the details.
func (c *Catalog) strays(ctx context.Context, key store.EntityKey, set *yamldoc.Node, r *Reconciled) (map[*yamldoc.Node]bool, error) {
	if key.Kind == ref.InputSet {
		pipeline, err := Find(c.Store.Entity).below(ctx, pipelineOf(key))
		if err != nil {
			return nil, err
		}
		gone, dropped := input.Strays(pipeline, valuesOf(set))
		r.Dropped = dropped
		return gone, nil
	}
	there := map[string]bool{}
	if err := c.each(ctx, key.Scope, ref.InputSet, key.Env, func(e store.Entity) { there[e.Key.ID] = true }); err != nil {
		return nil, err
	}
	gone := map[*yamldoc.Node]bool{}
	for _, n := range missingSets(set, func(id string) bool { return there[id] }) {
		gone[n] = true
		r.Dropped = append(r.Dropped, noSet(n))
	}
	return gone, nil
}
