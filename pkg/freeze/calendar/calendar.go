// Package calendar reads the deployment freezes that are saved in and around a
// scope, for whoever is about to start something and for people who look ahead.
//
// When a freeze is active and whom it concerns is pkg/freeze's; what then
// doesn't begin is pkg/launch's and pkg/engine's.
package calendar

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/freeze"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reader reads freezes. Those of a scope are read each time, so that one that
// is enabled counts at once; what their documents say is decoded once.
type Reader struct {
	entities store.Entities
	mu       sync.Mutex
	decoded  map[document]freeze.Freeze
}

// document is what a freeze is decoded from.
type document struct {
	scope ref.Scope
	text  string
}

// New makes a Reader.
func New(entities store.Entities) *Reader {
	return &Reader{entities: entities, decoded: map[document]freeze.Freeze{}}
}

// Around are the freezes that are enabled in a scope and in those around it.
func (r *Reader) Around(ctx context.Context, scope ref.Scope) ([]freeze.Freeze, error) {
	all, err := r.All(ctx, scope)
	return slices.DeleteFunc(all, func(f freeze.Freeze) bool { return !f.Enabled }), err
}

// All are the freezes of a scope and of those around it, the outermost first.
func (r *Reader) All(ctx context.Context, scope ref.Scope) ([]freeze.Freeze, error) {
	around := scope.Around()
	found := make([][]freeze.Freeze, len(around))
	g, ctx := errgroup.WithContext(ctx)
	for i, s := range around {
		g.Go(func() (err error) {
			found[i], err = r.in(ctx, s)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, fmt.Errorf("read the deployment freezes around %s: %w", scope, err)
	}
	return slices.Concat(found...), nil
}

// in are the freezes of a scope itself.
func (r *Reader) in(ctx context.Context, scope ref.Scope) ([]freeze.Freeze, error) {
	var out []freeze.Freeze
	for saved, err := range store.All(ctx, r.entities, scope, ref.Freeze, "") {
		if err != nil {
			return nil, err
		}
		f, err := r.decode(saved)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// remembered is how many decoded documents are kept.
const remembered = 1000

func (r *Reader) decode(saved store.Entity) (freeze.Freeze, error) {
	doc := document{saved.Key.Scope, string(saved.YAML)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if f, known := r.decoded[doc]; known {
		return f, nil
	}
	docs, report := yamldoc.Parse("", saved.YAML)
	if len(docs) != 1 {
		return freeze.Freeze{}, fmt.Errorf("read %s: found %d documents", saved.Key.Describe(), len(docs))
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: saved.Key.Scope})
	if err := report.Err(); err != nil {
		return freeze.Freeze{}, fmt.Errorf("read %s: %w", saved.Key.Describe(), err)
	}
	if len(r.decoded) >= remembered {
		clear(r.decoded)
	}
	r.decoded[doc] = *e.Freeze
	return *e.Freeze, nil
}

// Typed gives targets the types of their environments.
func (r *Reader) Typed(ctx context.Context, targets []freeze.Target) error {
	var keys []store.EntityKey
	for _, t := range targets {
		key := environment(t)
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	found, err := r.entities.EntitiesAt(ctx, keys)
	if err != nil {
		return fmt.Errorf("read the environments that a stage deploys to: %w", err)
	}
	types := map[store.EntityKey]string{}
	for _, e := range found {
		docs, report := yamldoc.Parse("", e.YAML)
		if len(docs) != 1 {
			continue
		}
		if doc := entity.Decode(docs[0], report, entity.Options{Scope: e.Key.Scope}); doc.Environment != nil {
			types[e.Key] = doc.Environment.Type.Value
		}
	}
	for i, t := range targets {
		targets[i].EnvType = types[environment(t)]
	}
	return nil
}

func environment(t freeze.Target) store.EntityKey {
	return store.EntityKey{Scope: t.Environment.Scope, Kind: ref.Environment, ID: t.Environment.ID}
}
