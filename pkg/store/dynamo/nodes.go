package dynamo

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// maxNodes is how many nodes one commit may change (store.Commit): with the
// execution and an audit record they fit into a transaction.
const maxNodes = 90

func readNode(ctx context.Context, b bodies, it item) (store.Node, error) {
	n := store.Node{Execution: text(it, "execution"), ID: plan.NodeID(text(it, "node")), Version: number(it, "version")}
	return n, b.decode(ctx, it, "state", &n.State)
}

// Nodes reads the named nodes that have a record.
func (s executions) Nodes(ctx context.Context, execution string, ids ...plan.NodeID) ([]store.Node, error) {
	keys := make([]key, 0, len(ids))
	for _, id := range ids {
		if k := nodeAt(execution, id); !slices.Contains(keys, k) { // DynamoDB takes no key twice
			keys = append(keys, k)
		}
	}
	found, err := s.table.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	return decodeAll(ctx, s.table.bodies, found, readNode)
}

// AllNodes reads every node record of an execution.
func (s executions) AllNodes(ctx context.Context, execution string) ([]store.Node, error) {
	return s.ChangedNodes(ctx, execution, nil)
}

// ChangedNodes reads the node records of an execution but those that have the
// given version still, of which no body is fetched.
func (s executions) ChangedNodes(ctx context.Context, execution string, have map[plan.NodeID]int64) ([]store.Node, error) {
	found, err := s.table.query(ctx, query{
		pk: executionPK(execution), sk: "begins_with(sk, :node)", values: item{":node": str(nodePrefix)},
	})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(it item) bool { return have[plan.NodeID(text(it, "node"))] == number(it, "version") })
	return decodeAll(ctx, s.table.bodies, found, readNode)
}

// CommitExecution applies the changes of one execution, all or none.
func (s executions) CommitExecution(ctx context.Context, id string, c store.Commit) error {
	if len(c.Nodes) > maxNodes {
		return fault.New(fault.TooLarge, "a commit of execution %q changes %d nodes; at most %d go together", id, len(c.Nodes), maxNodes)
	}
	if c.Execution != nil && c.Execution.ID != id {
		return fmt.Errorf("a commit of execution %q holds execution %q", id, c.Execution.ID)
	}
	var writes []write
	for _, n := range c.Nodes {
		w, err := s.nodeWrite(ctx, id, n)
		if err != nil {
			return err
		}
		writes = append(writes, w)
	}
	if o := c.Opens; o.Nodes > o.Most {
		return o.Full()
	} else if o.Nodes > 0 {
		writes = append(writes, s.table.update(openedAt(o.Of), "ADD #nodes :nodes", "attribute_not_exists(#nodes) OR #nodes <= :room",
			item{":nodes": num(int64(o.Nodes)), ":room": num(int64(o.Most - o.Nodes))}, o.Full()))
	}
	if k := c.Keeps; k.Bytes > k.Most {
		return k.Full(id)
	} else if k.Bytes > 0 {
		writes = append(writes, s.table.update(keptAt(id), "ADD #bytes :bytes", "attribute_not_exists(#bytes) OR #bytes <= :room",
			item{":bytes": num(int64(k.Bytes)), ":room": num(int64(k.Most - k.Bytes))}, k.Full(id)))
	}
	if e := c.Execution; e != nil {
		w, err := s.updating(ctx, *e, c.Waits, store.Stale(fmt.Sprintf("execution %q", id), e.Version))
		if err != nil {
			return err
		}
		writes = append(writes, w)
	} else if c.Waits != (store.Waits{}) {
		writes = append(writes, s.waiting(id, c.Waits))
	}
	if above := c.Waits.Above(); c.Parent != "" && above != (store.Waits{}) {
		writes = append(writes, s.waiting(c.Parent, above))
	}
	var err error
	switch {
	case c.Audit != nil:
		err = s.audits.audited(ctx, *c.Audit, writes...)
	case len(writes) > 0:
		err = again(ctx, func() error { return s.table.transact(ctx, writes...) })
	}
	if fault.Is(err, fault.StaleVersion) {
		s.table.abandon(ctx, writes...)
	}
	return err
}

func (s executions) nodeWrite(ctx context.Context, execution string, n store.Node) (write, error) {
	it := nodeAt(execution, n.ID).item()
	it["execution"], it["node"], it["version"] = str(execution), str(string(n.ID)), num(n.Version+1)
	if err := s.table.encodeOwn(ctx, it, "state", n.State, largestPart); err != nil {
		return write{}, err
	}
	lost := store.Stale(fmt.Sprintf("node %s of execution %q", n.ID, execution), n.Version)
	if n.Version == 0 {
		return s.table.put(it, missing, nil, lost), nil
	}
	return s.table.put(it, "#version = :version", item{":version": num(n.Version)}, lost), nil
}
