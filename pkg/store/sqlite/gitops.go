package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// gitOps is store.GitOps.
type gitOps struct{ db *sqlitedb.DB }

func agentKey(r ref.Ref) string       { return join(r.Scope.Account, r.Scope.Org, r.Scope.Project, r.ID) }
func appKey(k protocol.AppKey) string { return join(k.Namespace, k.Name) }
func decodeDoc[T any](raw []byte) (T, error) {
	var out T
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("decode what is kept of GitOps: %w", err)
	}
	return out, nil
}

func encodeDoc(v any) (string, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode what is kept of GitOps: %w", err)
	}
	return string(doc), nil
}

func scanDoc[T any](row scanner) (T, error) {
	var raw []byte
	if err := row.Scan(&raw); err != nil {
		var none T
		return none, err
	}
	return decodeDoc[T](raw)
}

// SaveGitOpsLink writes one of the version that was read.
func (s gitOps) SaveGitOpsLink(ctx context.Context, l store.GitOpsLink) (store.GitOpsLink, error) {
	return write(ctx, s.db, func(tx *sqlitedb.Tx) (store.GitOpsLink, error) {
		var have int64
		err := tx.QueryRow(`SELECT version FROM gitops_link WHERE agent = ?`, agentKey(l.Agent)).Scan(&have)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return store.GitOpsLink{}, err
		}
		if have != l.Version {
			return store.GitOpsLink{}, store.Stale(fmt.Sprintf("what agent %s says", l.Agent.ID), l.Version)
		}
		l.Version++
		doc, err := encodeDoc(l)
		if err != nil {
			return store.GitOpsLink{}, err
		}
		return l, exec(tx, `INSERT OR REPLACE INTO gitops_link (agent, version, doc) VALUES (?, ?, ?)`, agentKey(l.Agent), l.Version, doc)
	})
}

// GitOpsLink reads that of an agent.
func (s gitOps) GitOpsLink(ctx context.Context, agent ref.Ref) (store.GitOpsLink, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.GitOpsLink, error) {
		l, err := scanDoc[store.GitOpsLink](tx.QueryRow(`SELECT doc FROM gitops_link WHERE agent = ?`, agentKey(agent)))
		return l, missing(err, "a word of agent %q", agent.ID)
	})
}

// ListGitOpsLinks lists those of an account.
func (s gitOps) ListGitOpsLinks(ctx context.Context, account string) ([]store.GitOpsLink, error) {
	from, to := within(account)
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.GitOpsLink, error) {
		return rows(tx, scanDoc[store.GitOpsLink], `SELECT doc FROM gitops_link WHERE agent >= ? AND agent < ? ORDER BY agent`, from, to)
	})
}

// ForgetGitOps deletes what is known of an agent.
func (s gitOps) ForgetGitOps(ctx context.Context, agent ref.Ref) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		var err error
		for _, table := range []string{"gitops_link", "gitops_app", "gitops_history", "gitops_request"} {
			err = errors.Join(err, exec(tx, `DELETE FROM `+table+` WHERE agent = ?`, agentKey(agent)))
		}
		return err
	})
}

// PutGitOpsApp stores what is known of an application.
func (s gitOps) PutGitOpsApp(ctx context.Context, a store.GitOpsApp) error {
	doc, err := encodeDoc(a)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		var have int64
		err := tx.QueryRow(`SELECT fence FROM gitops_app WHERE agent = ? AND app = ?`, agentKey(a.Agent), appKey(a.Key)).Scan(&have)
		switch {
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return err
		case have > a.Fence:
			return fault.New(fault.LeaseLost, "application %s was reported with the fence %d; this has %d", a.Key, have, a.Fence)
		}
		return exec(tx, `INSERT OR REPLACE INTO gitops_app (agent, app, fence, doc) VALUES (?, ?, ?, ?)`, agentKey(a.Agent), appKey(a.Key), a.Fence, doc)
	})
}

// GitOpsApps reads those of some applications that are known.
func (s gitOps) GitOpsApps(ctx context.Context, agent ref.Ref, keys []protocol.AppKey) ([]store.GitOpsApp, error) {
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = appKey(k)
	}
	list, err := encodeDoc(texts)
	if err != nil {
		return nil, err
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.GitOpsApp, error) {
		return rows(tx, scanDoc[store.GitOpsApp], `SELECT doc FROM gitops_app WHERE agent = ? AND app IN (SELECT value FROM json_each(?)) ORDER BY app`, agentKey(agent), list)
	})
}

// DeleteGitOpsApp forgets one.
func (s gitOps) DeleteGitOpsApp(ctx context.Context, agent ref.Ref, k protocol.AppKey) error {
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		return errors.Join(
			exec(tx, `DELETE FROM gitops_app WHERE agent = ? AND app = ?`, agentKey(agent), appKey(k)),
			exec(tx, `DELETE FROM gitops_history WHERE agent = ? AND app = ?`, agentKey(agent), appKey(k)))
	})
}

// PutGitOpsHistory keeps that an application was synced, and forgets what is old.
func (s gitOps) PutGitOpsHistory(ctx context.Context, agent ref.Ref, h protocol.History) error {
	doc, err := encodeDoc(h)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		return errors.Join(
			exec(tx, `INSERT OR REPLACE INTO gitops_history (agent, app, at, id, doc) VALUES (?, ?, ?, ?, ?)`,
				agentKey(agent), appKey(h.App), millis(h.Entry.DeployedAt), historyID(h), doc),
			exec(tx, `DELETE FROM gitops_history WHERE agent = ? AND app = ? AND at < ?`,
				agentKey(agent), appKey(h.App), millis(h.Entry.DeployedAt.Add(-store.GitOpsHistoryKept))))
	})
}

func historyID(h protocol.History) string { return strconv.FormatInt(h.Entry.ID, 10) }

// ListGitOpsHistory lists how an application was synced, newest first.
func (s gitOps) ListGitOpsHistory(ctx context.Context, agent ref.Ref, k protocol.AppKey, page store.Page) ([]protocol.History, string, error) {
	place := func(h protocol.History) moment { return momentOf(h.Entry.DeployedAt, historyID(h)) }
	return byTime(ctx, s.db, page, newest, place, func(tx *sqlitedb.Tx, beyond moment, limit int) ([]protocol.History, error) {
		return rows(tx, scanDoc[protocol.History],
			`SELECT doc FROM gitops_history WHERE agent = ? AND app = ? AND (at, id) < (?, ?) ORDER BY at DESC, id DESC LIMIT ?`,
			agentKey(agent), appKey(k), beyond.at, beyond.id, limit)
	})
}

// AskGitOps keeps a new request.
func (s gitOps) AskGitOps(ctx context.Context, r store.GitOpsRequest, a audit.Record) error {
	doc, err := encodeDoc(r)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if err := exec(tx, `INSERT INTO gitops_request (agent, id, doc) VALUES (?, ?, ?)`, agentKey(r.Agent), r.Request.ID, doc); err != nil {
			return err
		}
		_, err := appendAudit(tx, a)
		return err
	})
}

func scanRequest(row scanner) (store.GitOpsRequest, error) {
	var raw, result []byte
	if err := row.Scan(&raw, &result); err != nil {
		return store.GitOpsRequest{}, err
	}
	r, err := decodeDoc[store.GitOpsRequest](raw)
	if err != nil || result == nil {
		return r, err
	}
	r.Result, err = decodeDoc[*protocol.Result](result)
	return r, err
}

// OpenGitOps lists the requests that nobody has answered.
func (s gitOps) OpenGitOps(ctx context.Context, agent ref.Ref) ([]store.GitOpsRequest, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.GitOpsRequest, error) {
		return rows(tx, scanRequest, `SELECT doc, result FROM gitops_request WHERE agent = ? AND result IS NULL ORDER BY id`, agentKey(agent))
	})
}

// GitOpsRequest reads one.
func (s gitOps) GitOpsRequest(ctx context.Context, agent ref.Ref, id string) (store.GitOpsRequest, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) (store.GitOpsRequest, error) {
		r, err := scanRequest(tx.QueryRow(`SELECT doc, result FROM gitops_request WHERE agent = ? AND id = ?`, agentKey(agent), id))
		return r, missing(err, "request %q", id)
	})
}

// AnswerGitOps keeps the first answer to a request, and forgets old ones.
func (s gitOps) AnswerGitOps(ctx context.Context, agent ref.Ref, id string, r protocol.Result, until time.Time) error {
	doc, err := encodeDoc(r)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		return errors.Join(
			exec(tx, `UPDATE gitops_request SET result = ?, until = ? WHERE agent = ? AND id = ? AND result IS NULL`, doc, millis(until), agentKey(agent), id),
			exec(tx, `DELETE FROM gitops_request WHERE until < ?`, millis(until.Add(-store.GitOpsRequestsKept))))
	})
}
