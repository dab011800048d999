package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// entities is store.Entities.
type entities struct {
	db     *sqlitedb.DB
	judged *int64 // nil: changes weren't judged by who may do what
}

// Judged gives the entities to who has judged a change at an access version.
func (s entities) Judged(access int64) store.Entities {
	s.judged = &access
	return s
}

// timely refuses changes of documents that were judged by what isn't so any more.
func (s entities) timely(tx *sqlitedb.Tx, changed ...store.EntityKey) error {
	if s.judged == nil || !slices.ContainsFunc(changed, func(k store.EntityKey) bool { return ref.OfAccess(k.Kind) }) {
		return nil
	}
	now, err := accessVersion(tx, changed[0].Scope.Account)
	if err == nil && now != *s.judged {
		err = store.JudgedLate()
	}
	return err
}

const entityColumns = `key, name, version, yaml, refs, updated_by, created_at, updated_at, saved_as`

func scanEntity(row scanner) (store.Entity, error) {
	var e store.Entity
	var key, refs, as string
	var created, updated int64
	if err := row.Scan(&key, &e.Name, &e.Version, &e.YAML, &refs, &e.UpdatedBy, &created, &updated, &as); err != nil {
		return store.Entity{}, err
	}
	e.CreatedAt, e.UpdatedAt = fromMillis(created), fromMillis(updated)
	var err error
	if e.Key, err = parseEntityKey(key); err != nil {
		return store.Entity{}, err
	}
	if as != "" {
		if err := json.Unmarshal([]byte(as), &e.By); err != nil {
			return store.Entity{}, fmt.Errorf("decode as whom %s was saved: %w", e.Key.Describe(), err)
		}
	}
	e.Refs, err = decodeRefs(refs)
	return e, err
}

// encodeRefs keeps the keys of what an entity names, in their order.
func encodeRefs(refs []store.EntityKey) (string, error) {
	keys := make([]string, len(refs))
	for i, r := range refs {
		keys[i] = entityKey(r)
	}
	doc, err := json.Marshal(keys)
	return string(doc), err
}

func decodeRefs(doc string) ([]store.EntityKey, error) {
	var keys []string
	if err := json.Unmarshal([]byte(doc), &keys); err != nil {
		return nil, fmt.Errorf("decode references: %w", err)
	}
	var refs []store.EntityKey
	for _, k := range keys {
		r, err := parseEntityKey(k)
		if err != nil {
			return nil, err
		}
		refs = append(refs, r)
	}
	return refs, nil
}

// SaveEntity writes e over the version that it was read as.
func (s entities) SaveEntity(ctx context.Context, e store.Entity, a audit.Record, values ...store.Secret) (store.Entity, error) {
	saved, err := s.SaveEntities(ctx, []store.Save{{Entity: e, Audit: a, Values: values}})
	if err != nil {
		return store.Entity{}, err
	}
	return saved[0], nil
}

// SaveEntities is SaveEntity for several: all are saved or none.
func (s entities) SaveEntities(ctx context.Context, saves []store.Save) ([]store.Entity, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Entity, error) {
		keys := make([]store.EntityKey, len(saves))
		for i, one := range saves {
			keys[i] = one.Entity.Key
		}
		if err := s.timely(tx, keys...); err != nil {
			return nil, err
		}
		var saved []store.Entity
		for _, one := range saves {
			e, err := saveOne(tx, one)
			if err != nil {
				return nil, err
			}
			saved = append(saved, e)
		}
		return saved, nil
	})
}

func saveOne(tx *sqlitedb.Tx, one store.Save) (store.Entity, error) {
	refs, err := encodeRefs(one.Entity.Refs)
	if err != nil {
		return store.Entity{}, err
	}
	saved, err := saveEntity(tx, one.Entity, refs)
	if err != nil {
		return store.Entity{}, err
	}
	if err := saveRefs(tx, one.Entity); err != nil {
		return store.Entity{}, err
	}
	for _, v := range one.Values {
		if err := putSecret(tx, v); err != nil {
			return store.Entity{}, err
		}
	}
	if err := countAccess(tx, one.Entity.Key); err != nil {
		return store.Entity{}, err
	}
	_, err = appendAudit(tx, one.Audit)
	return saved, err
}

// countAccess counts a change of a document that has a say in who may do what.
func countAccess(tx *sqlitedb.Tx, key store.EntityKey) error {
	if !ref.OfAccess(key.Kind) {
		return nil
	}
	return exec(tx, `INSERT INTO access_version (account, version) VALUES (?, 1) ON CONFLICT DO UPDATE SET version = version + 1`, key.Scope.Account)
}

// AccessVersion is how often documents were saved or deleted that have a say in
// who may do what.
func (s entities) AccessVersion(ctx context.Context, account string) (int64, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (int64, error) { return accessVersion(tx, account) })
}

func accessVersion(tx *sqlitedb.Tx, account string) (int64, error) {
	var v int64
	err := tx.QueryRow(`SELECT version FROM access_version WHERE account = ?`, account).Scan(&v)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return v, err
}

// EntitiesAt reads those of the keys that there are.
func (s entities) EntitiesAt(ctx context.Context, keys []store.EntityKey) ([]store.Entity, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = entityKey(k)
	}
	list, err := json.Marshal(texts)
	if err != nil {
		return nil, fmt.Errorf("encode keys: %w", err)
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Entity, error) {
		return rows(tx, scanEntity, `SELECT `+entityColumns+` FROM entity WHERE key IN (SELECT value FROM json_each(?))`, string(list))
	})
}

func saveEntity(tx *sqlitedb.Tx, e store.Entity, refs string) (store.Entity, error) {
	key, yaml := entityKey(e.Key), nonNil(e.YAML)
	as := []byte{}
	if e.By != nil {
		var err error
		if as, err = json.Marshal(e.By); err != nil {
			return store.Entity{}, fmt.Errorf("encode as whom %s is saved: %w", e.Key.Describe(), err)
		}
	}
	var row sqlitedb.Row
	if e.Version == 0 {
		row = tx.QueryRow(`INSERT INTO entity (`+entityColumns+`) VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)
			ON CONFLICT DO NOTHING RETURNING `+entityColumns,
			key, e.Name, yaml, refs, e.UpdatedBy, millis(e.CreatedAt), millis(e.UpdatedAt), string(as))
	} else {
		row = tx.QueryRow(`UPDATE entity SET name = ?, version = version + 1, yaml = ?, refs = ?, updated_by = ?, updated_at = ?, saved_as = ?
			WHERE key = ? AND version = ? RETURNING `+entityColumns,
			e.Name, yaml, refs, e.UpdatedBy, millis(e.UpdatedAt), string(as), key, e.Version)
	}
	saved, err := scanEntity(row)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Entity{}, store.Stale(e.Key.Describe(), e.Version)
	}
	return saved, err
}

func saveRefs(tx *sqlitedb.Tx, e store.Entity) error {
	source := entityKey(e.Key)
	if e.Version > 0 {
		if err := exec(tx, `DELETE FROM entity_ref WHERE source = ?`, source); err != nil {
			return err
		}
	}
	for _, r := range e.Refs {
		if err := exec(tx, `INSERT INTO entity_ref (target, source) VALUES (?, ?) ON CONFLICT DO NOTHING`, entityKey(r), source); err != nil {
			return err
		}
	}
	return nil
}

// Entity reads one.
func (s entities) Entity(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Entity, error) {
		e, err := scanEntity(tx.QueryRow(`SELECT `+entityColumns+` FROM entity WHERE key = ?`, entityKey(key)))
		return e, missing(err, "%s", key.Describe())
	})
}

// ListEntities lists one kind in one scope by id, then by environment.
func (s entities) ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, env string, page store.Page) ([]store.Entity, string, error) {
	after, err := decodeToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	from, to := within(scope.Account, scope.Org, scope.Project, string(kind))
	limit := bounded(page.Limit)
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Entity, error) {
		return rows(tx, scanEntity, `SELECT `+entityColumns+` FROM entity
			WHERE key >= ?1 AND key < ?2 AND key > ?3 AND (?4 = '' OR substr(key, -length(?4)) = ?4)
			ORDER BY key LIMIT ?5`, from, to, after, endsWith(env), limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(e store.Entity) string { return entityKey(e.Key) })
	return list, next, nil
}

// Names lists what the entities of one kind in one scope are called, by id.
func (s entities) Names(ctx context.Context, scope ref.Scope, kind ref.Kind) ([]store.EntityName, error) {
	from, to := within(scope.Account, scope.Org, scope.Project, string(kind))
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.EntityName, error) {
		return rows(tx, scanName, `SELECT key, name FROM entity WHERE key >= ? AND key < ? ORDER BY key`, from, to)
	})
}

func scanName(row scanner) (store.EntityName, error) {
	var n store.EntityName
	var key string
	err := row.Scan(&key, &n.Name)
	if err == nil {
		n.Key, err = parseEntityKey(key)
	}
	return n, err
}

// endsWith is the end of the keys of an environment's entities; "" for all.
func endsWith(env string) string {
	if env == "" {
		return ""
	}
	return separator + join(env)
}

// DeleteEntity deletes the given version unless something else names it.
func (s entities) DeleteEntity(ctx context.Context, key store.EntityKey, version int64, a audit.Record) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		k := entityKey(key)
		var have int64
		if err := tx.QueryRow(`SELECT version FROM entity WHERE key = ?`, k).Scan(&have); err != nil {
			return missing(err, "%s", key.Describe())
		}
		if have != version {
			return store.Stale(key.Describe(), version)
		}
		if err := s.timely(tx, key); err != nil {
			return err
		}
		if err := unreferenced(tx, key.Describe(), key); err != nil {
			return err
		}
		if err := exec(tx, `DELETE FROM entity_ref WHERE source = ?`, k); err != nil {
			return err
		}
		if err := exec(tx, `DELETE FROM entity WHERE key = ?`, k); err != nil {
			return err
		}
		if err := countAccess(tx, key); err != nil {
			return err
		}
		if ref.HoldsValues(key.Kind) {
			if err := exec(tx, `DELETE FROM secret WHERE key = ?`, k); err != nil {
				return err
			}
		}
		_, err := appendAudit(tx, a)
		return err
	})
}

// unreferenced says who else names one of the targets, if anybody does; what is
// what would be deleted.
func unreferenced(tx *sqlitedb.Tx, what string, targets ...store.EntityKey) error {
	const named = 20 // in the message; a person deals with these first
	refused := fault.New(fault.Referenced, "%s can't be deleted: other entities name it", what)
	for _, target := range targets {
		who, err := referrers(tx, target, "", named)
		if err != nil {
			return err
		}
		for _, w := range who {
			if w != target && len(refused.Details) < named {
				refused = refused.With(store.Named(w.Describe(), target))
			}
		}
	}
	if len(refused.Details) == 0 {
		return nil
	}
	return refused
}

func referrers(tx *sqlitedb.Tx, key store.EntityKey, after string, limit int) ([]store.EntityKey, error) {
	return rows(tx, func(row scanner) (store.EntityKey, error) {
		var source string
		if err := row.Scan(&source); err != nil {
			return store.EntityKey{}, err
		}
		return parseEntityKey(source)
	}, `SELECT source FROM entity_ref WHERE target = ? AND source > ? ORDER BY source LIMIT ?`, entityKey(key), after, limit)
}

// Referrers lists who names key.
func (s entities) Referrers(ctx context.Context, key store.EntityKey, page store.Page) ([]store.EntityKey, string, error) {
	after, err := decodeToken(page.Token)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.EntityKey, error) {
		return referrers(tx, key, after, limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, entityKey)
	return list, next, nil
}

// nonNil is an empty value for a column that mustn't be NULL.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
