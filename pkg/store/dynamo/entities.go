package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// entities is store.Entities.
type entities struct {
	table      *table
	audits     audits
	references references
	judged     *int64 // nil: changes weren't judged by who may do what
}

// Judged gives the entities to who has judged a change at an access version.
func (s entities) Judged(access int64) store.Entities {
	s.judged = &access
	return s
}

// entityItem is an entity with the version that it has.
func (s entities) entityItem(ctx context.Context, e store.Entity) (item, error) {
	it := entityAt(e.Key).item()
	var refs []types.AttributeValue
	for _, r := range e.Refs {
		refs = append(refs, str(entityText(r)))
	}
	it["pk1"], it["sk1"] = str(namesPK(e.Key.Scope, e.Key.Kind)), str(nameSK(e.Key, e.Name))
	it["key"], it["env"], it["name"], it["version"] = str(entityText(e.Key)), str(e.Key.Env), str(e.Name), num(e.Version)
	it["refs"], it["by"] = &types.AttributeValueMemberL{Value: refs}, str(e.UpdatedBy)
	it["created"], it["updated"] = num(millis(e.CreatedAt)), num(millis(e.UpdatedAt))
	if e.By != nil {
		as, err := json.Marshal(e.By)
		if err != nil {
			return nil, fmt.Errorf("encode as whom %s is saved: %w", e.Key.Describe(), err)
		}
		it["as"] = str(string(as))
	}
	var err error
	it["yaml"], err = s.table.packed(ctx, e.YAML, largestValue)
	return it, err
}

func readEntity(ctx context.Context, b bodies, it item) (store.Entity, error) {
	e := store.Entity{
		Name: text(it, "name"), Version: number(it, "version"), UpdatedBy: text(it, "by"),
		CreatedAt: fromMillis(number(it, "created")), UpdatedAt: fromMillis(number(it, "updated")),
	}
	var err error
	if e.Key, err = parseEntity(text(it, "key")); err != nil {
		return store.Entity{}, err
	}
	for _, r := range refsOf(it) {
		k, err := parseEntity(r)
		if err != nil {
			return store.Entity{}, err
		}
		e.Refs = append(e.Refs, k)
	}
	if as := text(it, "as"); as != "" {
		if err := json.Unmarshal([]byte(as), &e.By); err != nil {
			return store.Entity{}, fmt.Errorf("decode as whom %s was saved: %w", e.Key.Describe(), err)
		}
	}
	e.YAML, err = b.unpacked(ctx, it, "yaml")
	return e, err
}

// Entity reads one.
func (s entities) Entity(ctx context.Context, k store.EntityKey) (store.Entity, error) {
	it, err := s.table.find(ctx, entityAt(k), "%s", k.Describe())
	if err != nil {
		return store.Entity{}, err
	}
	return readEntity(ctx, s.table.bodies, it)
}

// EntitiesAt reads those of the keys that there are.
func (s entities) EntitiesAt(ctx context.Context, keys []store.EntityKey) ([]store.Entity, error) {
	at := make([]key, len(keys))
	for i, k := range keys {
		at[i] = entityAt(k)
	}
	found, err := s.table.getAll(ctx, at)
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readEntity)
}

// ListEntities lists one kind in one scope by id, then by environment.
func (s entities) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, env string, page store.Page) ([]store.Entity, string, error) {
	q := query{pk: entitiesPK(scope, kind), sk: "sk > :after"}
	list := join(q.pk, env)
	after, err := s.table.after(list, page.Token)
	if err != nil {
		return nil, "", err
	}
	if after == "" {
		after = separator // before all of them
	}
	limit := bounded(page.Limit)
	q.values, q.limit = item{":after": str(after)}, limit+1
	if env != "" {
		q.filter, q.values[":env"] = "#env = :env", str(env)
	}
	found, err := s.table.query(ctx, q)
	if err != nil {
		return nil, "", err
	}
	found, next, err := nextPage(s.table.pages, list, found, limit, func(it item) string { return text(it, "sk") })
	if err != nil {
		return nil, "", err
	}
	entities, err := decodeAll(ctx, s.table.bodies, found, readEntity)
	return entities, next, err
}

// DeleteEntity deletes the given version unless something else names it.
func (s entities) DeleteEntity(ctx context.Context, k store.EntityKey, version int64, a audit.Record) error {
	return s.audits.decided(ctx, a, func() ([]write, error) {
		before, err := s.table.find(ctx, entityAt(k), "%s", k.Describe())
		if err != nil {
			return nil, err
		}
		if number(before, "version") != version {
			return nil, store.Stale(k.Describe(), version)
		}
		unreferenced, err := s.references.unreferenced(ctx, k.Describe(), k)
		if err != nil {
			return nil, err
		}
		// errAgain: the next look tells whether it was changed or deleted.
		asRead := item{":version": num(version)}
		writes := append([]write{s.table.remove(entityAt(k), "#version = :version", asRead, errAgain)}, unreferenced...)
		writes = append(writes, s.counting(k)...)
		if ref.HoldsValues(k.Kind) {
			writes = append(writes, s.table.remove(secretAt(k), "", nil, nil))
		}
		for _, target := range refsOf(before)[:min(len(refsOf(before)), largestTransaction-len(writes)-mostEntering)] {
			writes = append(writes, s.table.remove(referenceAt(target, entityText(k)), "", nil, nil))
		}
		return writes, nil
	})
}

// AccessVersion is how often documents were saved or deleted that have a say in
// who may do what.
func (s entities) AccessVersion(ctx context.Context, account string) (int64, error) {
	it, err := s.table.get(ctx, accessVersionAt(account))
	return number(it, "version"), err
}

// counting is the write that counts a change of documents, if one of them has a
// say in who may do what.
func (s entities) counting(changed ...store.EntityKey) []write {
	for _, k := range changed {
		if !ref.OfAccess(k.Kind) {
			continue
		}
		values, condition := item{":one": num(1)}, ""
		if s.judged != nil && *s.judged == 0 {
			condition = "attribute_not_exists(#version)"
		} else if s.judged != nil {
			values[":judged"], condition = num(*s.judged), "#version = :judged"
		}
		return []write{s.table.update(accessVersionAt(k.Scope.Account), "ADD #version :one", condition, values, store.JudgedLate())}
	}
	return nil
}
