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

// selectNodes reads those of an execution that a JSON list names.
const selectNodes = `SELECT execution, id, version, state FROM node
	WHERE execution = ? AND id IN (SELECT value FROM json_each(?))`

// nodeRow is a node as it is stored.
type nodeRow struct {
	execution string
	id        plan.NodeID
	version   int64
	state     []byte
}

func (r nodeRow) node() (store.Node, error) {
	n := store.Node{Execution: r.execution, ID: r.id, Version: r.version}
	if err := json.Unmarshal(r.state, &n.State); err != nil {
		return store.Node{}, fmt.Errorf("decode node %s of execution %s: %w", n.ID, n.Execution, err)
	}
	return n, nil
}

func scanNode(row scanner) (store.Node, error) {
	var r nodeRow
	if err := row.Scan(&r.execution, &r.id, &r.version, &r.state); err != nil {
		return store.Node{}, err
	}
	return r.node()
}

func decodeNodes(rows []nodeRow) ([]store.Node, error) {
	out := make([]store.Node, len(rows))
	for i, r := range rows {
		var err error
		if out[i], err = r.node(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Nodes reads the named nodes that have a record.
func (s executions) Nodes(ctx context.Context, execution string, ids ...plan.NodeID) ([]store.Node, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	if kept, known := s.recent.nodes(execution, ids); known {
		return decodeNodes(kept)
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("encode node ids: %w", err)
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Node, error) {
		return rows(tx, scanNode, selectNodes, execution, string(list))
	})
}

// AllNodes reads every node record of an execution.
func (s executions) AllNodes(ctx context.Context, execution string) ([]store.Node, error) {
	return s.ChangedNodes(ctx, execution, nil)
}

// ChangedNodes reads the node records of an execution but those that have the
// given version still.
func (s executions) ChangedNodes(ctx context.Context, execution string, have map[plan.NodeID]int64) ([]store.Node, error) {
	if kept, known := s.recent.changedNodes(execution, have); known {
		return decodeNodes(kept)
	}
	return read(ctx, s.db, func(tx *sqlitedb.Tx) ([]store.Node, error) {
		if len(have) == 0 {
			return rows(tx, scanNode, `SELECT execution, id, version, state FROM node WHERE execution = ? ORDER BY id`, execution)
		}
		all, err := rows(tx, func(row scanner) (r nodeRow, err error) {
			err = row.Scan(&r.id, &r.version)
			return r, err
		}, `SELECT id, version FROM node WHERE execution = ?`, execution)
		if err != nil {
			return nil, err
		}
		changed := []plan.NodeID{}
		for _, r := range all {
			if have[r.id] != r.version {
				changed = append(changed, r.id)
			}
		}
		if len(changed) == 0 {
			return nil, nil
		}
		list, err := json.Marshal(changed)
		if err != nil {
			return nil, fmt.Errorf("encode node ids: %w", err)
		}
		return rows(tx, scanNode, selectNodes, execution, string(list))
	})
}

// CommitExecution applies the changes of one execution, all or none.
func (s executions) CommitExecution(ctx context.Context, id string, c store.Commit) error {
	if len(c.Nodes) > maxNodes {
		return fault.New(fault.TooLarge, "a commit of execution %q changes %d nodes; at most %d go together", id, len(c.Nodes), maxNodes)
	}
	if c.Execution != nil && c.Execution.ID != id {
		return fmt.Errorf("a commit of execution %q holds execution %q", id, c.Execution.ID)
	}
	changed := make([]nodeRow, len(c.Nodes))
	for i, n := range c.Nodes {
		doc, err := json.Marshal(n.State)
		if err != nil {
			return fmt.Errorf("encode node %s of execution %s: %w", n.ID, id, err)
		}
		changed[i] = nodeRow{execution: id, id: n.ID, version: n.Version + 1, state: doc}
	}
	return s.db.Apply(ctx, func(tx *sqlitedb.Tx) error {
		for _, n := range changed {
			if err := commitNode(tx, n); err != nil {
				return err
			}
		}
		tx.Then(func() { s.recent.changeNodes(id, changed) })
		if err := opened(tx, c.Opens); err != nil {
			return err
		}
		if err := kept(tx, id, c.Keeps); err != nil {
			return err
		}
		if err := s.waiting(tx, id, c.Waits); err != nil {
			return err
		}
		if c.Parent != "" {
			if err := s.waiting(tx, c.Parent, c.Waits.Above()); err != nil {
				return err
			}
		}
		if c.Execution != nil {
			if _, err := s.updateExecution(tx, *c.Execution); err != nil {
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

// waiting counts the nodes that wait from now on, or no longer.
func (s executions) waiting(tx *sqlitedb.Tx, execution string, more store.Waits) error {
	if more == (store.Waits{}) {
		return nil
	}
	var now store.Waits
	err := tx.QueryRow(`UPDATE execution SET approvals = approvals + ?, inputs = inputs + ?, interventions = interventions + ?, turns = turns + ?, held = held + ?
		WHERE id = ? RETURNING approvals, inputs, interventions, turns, held`, more.Approvals, more.Inputs, more.Interventions, more.Turns, more.Held, execution).
		Scan(&now.Approvals, &now.Inputs, &now.Interventions, &now.Turns, &now.Held)
	if err == nil {
		tx.Then(func() { s.recent.wait(execution, now) })
	}
	return missing(err, "execution %q", execution)
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

// kept counts the bytes of large outputs, if there is room for them.
func kept(tx *sqlitedb.Tx, execution string, k store.Keeping) error {
	if k.Bytes == 0 {
		return nil
	}
	if k.Bytes > k.Most {
		return k.Full(execution)
	}
	changed, err := tx.Exec(`INSERT INTO kept (execution, bytes) VALUES (?, ?)
		ON CONFLICT (execution) DO UPDATE SET bytes = bytes + excluded.bytes WHERE bytes + excluded.bytes <= ?`, execution, k.Bytes, k.Most)
	if err == nil && changed == 0 {
		return k.Full(execution)
	}
	return err
}

// commitNode writes a node over the version before its own.
func commitNode(tx *sqlitedb.Tx, n nodeRow) error {
	var changed int64
	var err error
	if n.version == 1 {
		changed, err = tx.Exec(`INSERT INTO node (execution, id, version, state) VALUES (?, ?, 1, ?) ON CONFLICT DO NOTHING`,
			n.execution, string(n.id), string(n.state))
	} else {
		changed, err = tx.Exec(`UPDATE node SET version = version + 1, state = ? WHERE execution = ? AND id = ? AND version = ?`,
			string(n.state), n.execution, string(n.id), n.version-1)
	}
	if err == nil && changed == 0 {
		return store.Stale(fmt.Sprintf("node %s of execution %q", n.id, n.execution), n.version-1)
	}
	return err
}
