package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// placements is store.Placements.
type placements struct{ db *sqlitedb.DB }

const placementColumns = `scope, service, place, version, watcher, fence, doc`

// placementDoc is what no query asks a placement for.
type placementDoc struct {
	Deployed store.Deployed `json:"deployed"`
	Look     store.Look     `json:"look"`
	Seen     store.Seen     `json:"seen"`
}

// placeKey is a placement's key below its scope and its service.
func placeKey(k store.PlacementKey) string { return join(k.Environment, k.Infrastructure, k.Target) }

func placementKey(scope, service, place string) (store.PlacementKey, error) {
	s, err := parseScope(scope)
	if err != nil {
		return store.PlacementKey{}, err
	}
	p, err := split(place, 3)
	if err != nil {
		return store.PlacementKey{}, err
	}
	return store.PlacementKey{Scope: s, Service: service, Environment: p[0], Infrastructure: p[1], Target: p[2]}, nil
}

func scanPlacement(row scanner) (store.Placement, error) {
	var p store.Placement
	var scope, service, place string
	var raw []byte
	if err := row.Scan(&scope, &service, &place, &p.Version, &p.Watcher, &p.Fence, &raw); err != nil {
		return store.Placement{}, err
	}
	var err error
	if p.Key, err = placementKey(scope, service, place); err != nil {
		return store.Placement{}, err
	}
	var d placementDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.Placement{}, fmt.Errorf("decode %s: %w", p.Key, err)
	}
	p.Deployed, p.Look, p.Seen = d.Deployed, d.Look, d.Seen
	return p, nil
}

// SavePlacement writes one of the version that was read.
func (s placements) SavePlacement(ctx context.Context, p store.Placement, h *store.Moment) (store.Placement, error) {
	doc, err := json.Marshal(placementDoc{Deployed: p.Deployed, Look: p.Look, Seen: p.Seen})
	if err != nil {
		return store.Placement{}, fmt.Errorf("encode %s: %w", p.Key, err)
	}
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.Placement, error) {
		scope, place := scopeKey(p.Key.Scope), placeKey(p.Key)
		have, err := placementVersion(tx, scope, p.Key.Service, place)
		if err != nil {
			return store.Placement{}, err
		}
		if have != p.Version {
			return store.Placement{}, store.Stale(p.Key.String(), p.Version)
		}
		p.Version++
		err = exec(tx, `INSERT OR REPLACE INTO placement (scope, service, place, version, account, environment, watcher, fence, doc)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			scope, p.Key.Service, place, p.Version, p.Key.Scope.Account, p.Key.Environment, p.Watcher, p.Fence, string(doc))
		if err != nil || h == nil {
			return p, err
		}
		return p, putMoment(tx, *h)
	})
}

// placementVersion is 0 where there is none.
func placementVersion(tx *sqlitedb.Tx, scope, service, place string) (int64, error) {
	var have int64
	err := tx.QueryRow(`SELECT version FROM placement WHERE scope = ? AND service = ? AND place = ?`, scope, service, place).Scan(&have)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return have, err
}

// momentDoc is what no query asks a moment for.
type momentDoc struct {
	Place     string         `json:"place"`
	Instances int            `json:"instances"`
	Versions  map[string]int `json:"versions,omitempty"`
	Artifact  string         `json:"artifact,omitempty"`
	Cause     string         `json:"cause"`
	Execution string         `json:"execution,omitempty"`
}

// putMoment stores a moment and forgets the service's that are old.
func putMoment(tx *sqlitedb.Tx, m store.Moment) error {
	doc, err := json.Marshal(momentDoc{
		Place: placeKey(m.Key), Instances: m.Instances, Versions: m.Versions, Artifact: m.Artifact, Cause: m.Cause, Execution: m.Execution,
	})
	if err != nil {
		return fmt.Errorf("encode a moment of %s: %w", m.Key, err)
	}
	scope := scopeKey(m.Key.Scope)
	err = exec(tx, `INSERT OR REPLACE INTO placement_moment (scope, service, at, id, doc) VALUES (?, ?, ?, ?, ?)`,
		scope, m.Key.Service, millis(m.At), m.ID, string(doc))
	if err != nil {
		return err
	}
	return exec(tx, `DELETE FROM placement_moment WHERE scope = ? AND service = ? AND at < ?`,
		scope, m.Key.Service, millis(m.At.Add(-store.MomentsKept)))
}

// Placement reads one.
func (s placements) Placement(ctx context.Context, k store.PlacementKey) (store.Placement, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.Placement, error) {
		p, err := scanPlacement(tx.QueryRow(`SELECT `+placementColumns+` FROM placement WHERE scope = ? AND service = ? AND place = ?`,
			scopeKey(k.Scope), k.Service, placeKey(k)))
		return p, missing(err, "%s", k)
	})
}

// Lists of placements, by their key.
const (
	selectPlacements   = `SELECT ` + placementColumns + ` FROM placement WHERE scope = ?1 AND (service, place) > (?3, ?4)` + inEnvironment
	selectPlacementsOf = `SELECT ` + placementColumns + ` FROM placement WHERE scope = ?1 AND service = ?2 AND (service, place) > (?3, ?4)` + inEnvironment
	inEnvironment      = ` AND (?5 = '' OR environment = ?5) ORDER BY service, place LIMIT ?6`
)

// ListPlacements lists those of a scope or of a service in it.
func (s placements) ListPlacements(ctx context.Context, scope ref.Scope, service, environment string, page store.Page) ([]store.Placement, string, error) {
	after, err := placeAfter(page.Token, 2)
	if err != nil {
		return nil, "", err
	}
	query := selectPlacements
	if service != "" {
		query = selectPlacementsOf
	}
	limit := bounded(page.Limit)
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Placement, error) {
		return rows(tx, scanPlacement, query, scopeKey(scope), service, after[0], after[1], environment, limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(p store.Placement) string { return join(p.Key.Service, placeKey(p.Key)) })
	return list, next, nil
}

// placeAfter opens a page token of several parts.
func placeAfter(token string, n int) ([]string, error) {
	if token == "" {
		return make([]string, n), nil
	}
	key, err := decodeToken(token)
	if err != nil {
		return nil, err
	}
	parts, err := split(key, n)
	if err != nil {
		return nil, badToken(token)
	}
	return parts, nil
}

// WatchList lists an account's placements with who watches them.
func (s placements) WatchList(ctx context.Context, account string, page store.Page) ([]store.WatchedPlacement, string, error) {
	after, err := placeAfter(page.Token, 3)
	if err != nil {
		return nil, "", err
	}
	limit := bounded(page.Limit)
	scan := func(row scanner) (store.WatchedPlacement, error) {
		var w store.WatchedPlacement
		var scope, service, place string
		err := row.Scan(&scope, &service, &place, &w.Watcher, &w.Fence)
		if err == nil {
			w.Key, err = placementKey(scope, service, place)
		}
		return w, err
	}
	list, err := read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.WatchedPlacement, error) {
		return rows(tx, scan, `SELECT scope, service, place, watcher, fence FROM placement INDEXED BY placement_account
			WHERE account = ? AND (scope, service, place) > (?, ?, ?) ORDER BY scope, service, place LIMIT ?`,
			account, after[0], after[1], after[2], limit+1)
	})
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(w store.WatchedPlacement) string {
		return join(scopeKey(w.Key.Scope), w.Key.Service, placeKey(w.Key))
	})
	return list, next, nil
}

// DeletePlacement forgets one of a version.
func (s placements) DeletePlacement(ctx context.Context, k store.PlacementKey, version int64) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		scope, place := scopeKey(k.Scope), placeKey(k)
		have, err := placementVersion(tx, scope, k.Service, place)
		switch {
		case err != nil || have == 0:
			return err
		case have != version:
			return store.Stale(k.String(), version)
		}
		return exec(tx, `DELETE FROM placement WHERE scope = ? AND service = ? AND place = ?`, scope, k.Service, place)
	})
}

// ListMoments lists a service's history, newest first.
func (s placements) ListMoments(ctx context.Context, scope ref.Scope, service string, since time.Time, page store.Page) ([]store.Moment, string, error) {
	place := func(m store.Moment) moment { return momentOf(m.At, m.ID) }
	return byTime(ctx, s.db, page, newest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]store.Moment, error) {
		return rows(tx, func(row scanner) (store.Moment, error) { return scanMoment(row, scopeKey(scope), service) },
			`SELECT at, id, doc FROM placement_moment WHERE scope = ? AND service = ? AND at >= ? AND (at, id) < (?, ?)
			ORDER BY at DESC, id DESC LIMIT ?`, scopeKey(scope), service, millis(since), beyond.at, beyond.id, limit)
	})
}

func scanMoment(row scanner, scope, service string) (store.Moment, error) {
	var m store.Moment
	var at int64
	var raw []byte
	if err := row.Scan(&at, &m.ID, &raw); err != nil {
		return store.Moment{}, err
	}
	var d momentDoc
	if err := json.Unmarshal(raw, &d); err != nil {
		return store.Moment{}, fmt.Errorf("decode moment %s of service %s: %w", m.ID, service, err)
	}
	var err error
	if m.Key, err = placementKey(scope, service, d.Place); err != nil {
		return store.Moment{}, err
	}
	m.At, m.Instances, m.Versions, m.Artifact, m.Cause, m.Execution = fromMillis(at), d.Instances, d.Versions, d.Artifact, d.Cause, d.Execution
	return m, nil
}
