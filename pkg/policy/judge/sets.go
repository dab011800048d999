package judge

import (
	"context"
	"slices"
	"sync"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// sets are the entities of a store, of which the policy sets of a scope are read
// once and kept until some are saved: who has none pays nothing. Whoever
// saves some says so, see Judge.Forget.
type sets struct {
	store.Entities

	mu   sync.Mutex
	kept map[ref.Scope][]store.Entity
	// since counts how often they were forgotten: what was read meanwhile isn't
	// kept.
	since int
}

// keptScopes is of how many scopes sets are kept.
const keptScopes = 1000

// ListEntities lists policy sets as they are kept, if all are asked for (store.All).
func (s *sets) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, parent string, page store.Page) ([]store.Entity, string, error) {
	if kind != ref.PolicySet || page != (store.Page{Limit: store.MaxPage}) {
		return s.Entities.ListEntities(ctx, scope, kind, parent, page)
	}
	s.mu.Lock()
	known, ok := s.kept[scope]
	since := s.since
	s.mu.Unlock()
	if ok {
		return slices.Clone(known), "", nil
	}
	list, next, err := s.Entities.ListEntities(ctx, scope, kind, parent, page)
	if err != nil || next != "" {
		return list, next, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if since == s.since {
		if len(s.kept) >= keptScopes {
			clear(s.kept)
		}
		s.kept[scope] = slices.Clone(list)
	}
	return list, "", nil
}

func (s *sets) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since++
	clear(s.kept)
}

// Forget says that policy sets were saved or deleted.
func (j *Judge) Forget() {
	if j != nil && j.kept != nil {
		j.kept.forget()
	}
}

// Entities are those that are judged by; without a Judge, others.
func (j *Judge) Entities(others store.Entities) store.Entities {
	if j == nil {
		return others
	}
	return j.entities
}
