package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// changes is store.Changes.
type changes struct{ db *sqlitedb.DB }

// Changes lists what a subscriber hasn't taken in.
func (s changes) Changes(ctx context.Context, subscriber string, limit int) ([]store.Change, error) {
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Change, error) {
		return rows(tx, scanChange, `SELECT c.position, c.at, c.before, c.execution, c.node, c.fire, a.doc
			FROM change c LEFT JOIN audit a ON a.account = c.account AND a.sequence = c.sequence
			WHERE c.position > coalesce((SELECT position FROM change_cursor WHERE subscriber = ?), 0)
			ORDER BY c.position LIMIT ?`, subscriber, bounded(limit))
	})
}

// TakeIn moves a subscriber on.
func (s changes) TakeIn(ctx context.Context, subscriber string, position int64, all []string) error {
	list, err := json.Marshal(all)
	if err != nil {
		return fmt.Errorf("encode the subscribers: %w", err)
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		if err := exec(tx, `INSERT INTO change_cursor VALUES (?, ?)
			ON CONFLICT DO UPDATE SET position = max(position, excluded.position)`, subscriber, position); err != nil {
			return err
		}
		return exec(tx, `DELETE FROM change WHERE position <= (
			SELECT min(coalesce(c.position, 0)) FROM json_each(?) s LEFT JOIN change_cursor c ON c.subscriber = s.value)`, string(list))
	})
}

func scanChange(row scanner) (store.Change, error) {
	var c store.Change
	var at int64
	var execution, node, fire, record []byte
	if err := row.Scan(&c.Position, &at, &c.Before, &execution, &node, &fire, &record); err != nil {
		return store.Change{}, err
	}
	c.At = fromMillis(at)
	var err error
	switch {
	case execution != nil:
		c.Execution, err = changedExecution(execution)
	case node != nil:
		c.Node, err = changedNode(node)
	case fire != nil:
		c.Fire, err = changedFire(fire)
	case record == nil: // removed since, see TrimAudit: nobody hears of it any more
	default:
		c.Audit = new(audit.Record)
		err = json.Unmarshal(record, c.Audit)
	}
	if err != nil {
		return store.Change{}, fmt.Errorf("decode change %d: %w", c.Position, err)
	}
	return c, nil
}

// changedExecution reads executionImage.
func changedExecution(image []byte) (*store.Execution, error) {
	var i struct {
		ID, Scope, Pipeline string
		Status              plan.Status
		Sequence            int64
		Version, Started    int64
		Doc                 executionDoc
	}
	if err := json.Unmarshal(image, &i); err != nil {
		return nil, err
	}
	e, err := i.Doc.complete(store.Execution{
		ID: i.ID, Pipeline: i.Pipeline, Sequence: i.Sequence, Status: i.Status, Version: i.Version,
	}, i.Scope, i.Started)
	return &e, err
}

// changedNode reads nodeImage.
func changedNode(image []byte) (*store.Node, error) {
	n := new(store.Node)
	return n, json.Unmarshal(image, n)
}

// changedFire reads fireImage.
func changedFire(image []byte) (*store.Fire, error) {
	var i struct {
		Source, ID string
		At         int64
		Doc        fireDoc
	}
	if err := json.Unmarshal(image, &i); err != nil {
		return nil, err
	}
	trigger, err := parseEntityKey(i.Source)
	return &store.Fire{
		Trigger: trigger, ID: i.ID, At: fromMillis(i.At), Outcome: i.Doc.Outcome, Reason: i.Doc.Reason, Execution: i.Doc.Execution, Subject: i.Doc.Subject,
	}, err
}
