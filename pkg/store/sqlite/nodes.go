package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/store"
)

// maxNodes is how many nodes one commit may change (store.Commit). SQLite
// could do more; every store refuses the same.
const maxNodes = 90

func scanNode(row scanner) (store.Node, error) {
	var n store.Node
	var state []byte
	if err := row.Scan(&n.Execution, &n.ID, &n.Version, &state); err != nil {
		return store.Node{}, err
	}
	if err := json.Unmarshal(state, &n.State); err != nil {
		return store.Node{}, fmt.Errorf("decode node %s of execution %s: %w", n.ID, n.Execution, err)
	}
	return n, nil
}

// Nodes reads the named nodes that have a record.
func (s *Store) Nodes(ctx context.Context, execution string, ids ...plan.NodeID) ([]store.Node, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode node ids: %w", err)
	}
	return read(ctx, s, func(tx *sqlitedb.Tx) ([]store.Node, error) {
		return rows(tx, scanNode, `SELECT execution, id, version, state FROM node
			WHERE execution = ? AND id IN (SELECT value FROM json_each(?))`, execution, string(list))
	})
}

// AllNodes reads every node record of an execution.
func (s *Store) AllNodes(ctx context.Context, execution string) ([]store.Node, error) {
	return read(ctx, s, func(tx *sqlitedb.Tx) ([]store.Node, error) {
		return rows(tx, scanNode, `SELECT execution, id, version, state FROM node WHERE execution = ? ORDER BY id`, execution)
	})
}

// CommitExecution applies the changes of one execution, all or none.
func (s *Store) CommitExecution(ctx context.Context, id string, c store.Commit) error {
	if len(c.Nodes) > maxNodes {
		return fault.New(fault.TooLarge, "a commit of execution %q changes %d nodes; at most %d go together", id, len(c.Nodes), maxNodes)
	}
	if c.Execution != nil && c.Execution.ID != id {
		return fmt.Errorf("a commit of execution %q holds execution %q", id, c.Execution.ID)
	}
	states := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		doc, err := json.Marshal(n.State)
		if err != nil {
			return fmt.Errorf("encode node %s of execution %s: %w", n.ID, id, err)
		}
		states[i] = string(doc)
	}
	return s.db.Write(ctx, func(tx *sqlitedb.Tx) error {
		for i, n := range c.Nodes {
			if err := commitNode(tx, id, n, states[i]); err != nil {
				return err
			}
		}
		if err := opened(tx, c.Opens); err != nil {
			return err
		}
		if c.Execution != nil {
			if _, err := updateExecution(tx, *c.Execution); err != nil {
				return err
			}
		}
		if c.Audit == nil {
			return nil
		}
		_, err := appendAudit(tx, *c.Audit)
		return err
	})
}

// opened counts the nodes that come into being, if there is room for them.
func opened(tx *sqlitedb.Tx, o store.Opening) error {
	if o.Nodes == 0 {
		return nil
	}
	if o.Nodes > o.Most {
		return o.Full()
	}
	changed, err := tx.Exec(`INSERT INTO opened (execution, nodes) VALUES (?, ?)
		ON CONFLICT (execution) DO UPDATE SET nodes = nodes + excluded.nodes WHERE nodes + excluded.nodes <= ?`, o.Of, o.Nodes, o.Most)
	if err == nil && changed == 0 {
		return o.Full()
	}
	return err
}

func commitNode(tx *sqlitedb.Tx, execution string, n store.Node, state string) error {
	var changed int64
	var err error
	if n.Version == 0 {
		changed, err = tx.Exec(`INSERT INTO node (execution, id, version, state) VALUES (?, ?, 1, ?) ON CONFLICT DO NOTHING`,
			execution, string(n.ID), state)
	} else {
		changed, err = tx.Exec(`UPDATE node SET version = version + 1, state = ? WHERE execution = ? AND id = ? AND version = ?`,
			state, execution, string(n.ID), n.Version)
	}
	if err == nil && changed == 0 {
		return store.Stale(fmt.Sprintf("node %s of execution %q", n.ID, execution), n.Version)
	}
	return err
}
