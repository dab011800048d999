package dynamo

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// longestName is how many bytes of an entity's name an index has: its keys have
// 1,024, of which identifiers take some 300.
const longestName = 600

// Names lists what the entities of one kind in one scope are called, by id. It reads
// an index, which has no document in it.
func (s entities) Names(ctx context.Context, scope ref.Scope, kind ref.Kind) ([]store.EntityName, error) {
	all, err := s.table.get(ctx, namedAt(scope, kind))
	if err != nil {
		return nil, err
	}
	if all == nil {
		return s.nameAll(ctx, scope, kind)
	}
	found, err := s.table.query(ctx, query{index: IndexAccount, pk: namesPK(scope, kind)})
	if err != nil {
		return nil, err
	}
	names := make([]store.EntityName, 0, len(found))
	for _, it := range found {
		parts, err := split(text(it, "sk1"), 3)
		if err != nil {
			return nil, err
		}
		names = append(names, store.EntityName{Key: store.EntityKey{Scope: scope, Kind: kind, ID: parts[0], Env: parts[1]}, Name: parts[2]})
	}
	return names, nil
}

// nameAll puts those into the index that were saved before there was one, and keeps
// that all are in it: whatever is saved from then on is.
func (s entities) nameAll(ctx context.Context, scope ref.Scope, kind ref.Kind) ([]store.EntityName, error) {
	found, err := s.table.query(ctx, query{pk: entitiesPK(scope, kind)})
	if err != nil {
		return nil, err
	}
	var names []store.EntityName
	for _, it := range found {
		e := store.EntityName{Name: text(it, "name")}
		if e.Key, err = parseEntity(text(it, "key")); err != nil {
			return nil, err
		}
		names = append(names, e)
		if text(it, "pk1") != "" {
			continue
		}
		// One that was saved or deleted meanwhile is in the index by that, or nowhere.
		_, _, err := s.table.change(ctx, entityAt(e.Key), "SET #pk1 = :pk1, #sk1 = :sk1", "#version = :version", item{
			":pk1": str(namesPK(scope, kind)), ":sk1": str(nameSK(e.Key, e.Name)), ":version": it["version"],
		})
		if err != nil {
			return nil, err
		}
	}
	return names, s.table.putAlone(ctx, s.table.put(namedAt(scope, kind).item(), "", nil, nil))
}

// namedAt is there once all entities of a kind in a scope are in the index.
func namedAt(s ref.Scope, k ref.Kind) key { return key{namesPK(s, k), "all"} }

func namesPK(s ref.Scope, k ref.Kind) string {
	return join("EN", s.Account, s.Org, s.Project, string(k))
}

// nameSK sorts as entityAt does.
func nameSK(k store.EntityKey, name string) string {
	return join(k.ID, k.Env, strings.ToValidUTF8(name[:min(len(name), longestName)], ""))
}
