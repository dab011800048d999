package sqlite

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Keys of several parts are joined with "#", which sorts before everything
// that an identifier may hold, so that keys sort like their parts.
const separator = "#"

func join(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = strings.ReplaceAll(strings.ReplaceAll(p, "%", "%25"), separator, "%23")
	}
	return strings.Join(escaped, separator)
}

func split(key string, n int) ([]string, error) {
	parts := strings.Split(key, separator)
	if len(parts) != n {
		return nil, fmt.Errorf("key %q has %d parts, want %d", key, len(parts), n)
	}
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "%23", separator), "%25", "%")
	}
	return parts, nil
}

func scopeKey(s ref.Scope) string { return join(s.Account, s.Org, s.Project) }

func parseScope(key string) (ref.Scope, error) {
	p, err := split(key, 3)
	if err != nil {
		return ref.Scope{}, err
	}
	return ref.Scope{Account: p[0], Org: p[1], Project: p[2]}, nil
}

// entityKey ends with the environment, so that a kind's entities sort by id.
func entityKey(k store.EntityKey) string {
	return join(k.Scope.Account, k.Scope.Org, k.Scope.Project, string(k.Kind), k.ID, k.Env)
}

func parseEntityKey(key string) (store.EntityKey, error) {
	p, err := split(key, 6)
	if err != nil {
		return store.EntityKey{}, err
	}
	return store.EntityKey{
		Scope: ref.Scope{Account: p[0], Org: p[1], Project: p[2]}, Kind: ref.Kind(p[3]), ID: p[4], Env: p[5],
	}, nil
}

// within gives the range of keys that begin with the parts: from <= key < to.
func within(parts ...string) (from, to string) {
	from = join(parts...)
	return from + separator, from + string(separator[0]+1)
}

// millis is how times are kept.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// The bounds of a page (store.Page).
const (
	usualPage   = 50
	largestPage = store.MaxPage
)

func bounded(limit int) int {
	if limit <= 0 {
		return usualPage
	}
	return min(limit, largestPage)
}

// A page token is the key of the last thing on the page before.
func encodeToken(key string) string { return base64.RawURLEncoding.EncodeToString([]byte(key)) }

func decodeToken(token string) (string, error) {
	key, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", badToken(token)
	}
	return string(key), nil
}

func badToken(token string) error {
	return fault.New(fault.Invalid, "page token %q isn't one that a list gave", token)
}

// paged cuts a list that was read with one more than the page holds, and
// gives the token of the next page if there is one.
func paged[T any](list []T, limit int, key func(T) string) ([]T, string) {
	if len(list) <= limit {
		return list, ""
	}
	list = list[:limit]
	return list, encodeToken(key(list[limit-1]))
}

// moment is a place in a list by time; at is in milliseconds since the epoch.
type moment struct {
	at int64
	id string
}

// Where a list by time begins.
const (
	oldest int64 = -1
	newest int64 = 1 << 62
)

func momentOf(at time.Time, id string) moment { return moment{millis(at), id} }

func (m moment) String() string { return fmt.Sprintf("%d%s%s", m.at, separator, m.id) }

func parseMoment(token string) (moment, error) {
	key, err := decodeToken(token)
	if err != nil {
		return moment{}, err
	}
	ms, id, found := strings.Cut(key, separator)
	m := moment{id: id}
	if _, err := fmt.Sscan(ms, &m.at); err != nil || !found {
		return moment{}, badToken(token)
	}
	return m, nil
}

// byTime gives a page of a list by time, which begins at first, and the token
// of the next page. query asks for at most limit rows beyond a place.
func byTime[T any](ctx context.Context, db *sqlitedb.DB, page store.Page, first int64, place func(T) moment,
	query func(tx *sqlitedb.Tx, beyond moment, limit int) ([]T, error),
) ([]T, string, error) {
	beyond := moment{at: first}
	if page.Token != "" {
		var err error
		if beyond, err = parseMoment(page.Token); err != nil {
			return nil, "", err
		}
	}
	limit := bounded(page.Limit)
	list, err := read(ctx, db, func(tx *sqlitedb.Tx) ([]T, error) { return query(tx, beyond, limit+1) })
	if err != nil {
		return nil, "", err
	}
	list, next := paged(list, limit, func(v T) string { return place(v).String() })
	return list, next, nil
}
