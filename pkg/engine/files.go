package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filestore"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Files is the file store as a node of an execution sees it.
func (r *Reader) Files(ctx context.Context, execution string, node plan.NodeID) (store.Files, error) {
	snap, err := r.snapshot(ctx, execution)
	if err != nil {
		return nil, err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return nil, fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	at := snap.filesAt(n)
	if snap.err != nil {
		return nil, fmt.Errorf("read states: %w", snap.err)
	}
	return filestore.AsOf(r.store.Files, func() time.Time { return at }), nil
}

// files is Files for a decision, which looks at snap.err itself.
func (s *snapshot) files(n *plan.Node) store.Files {
	return filestore.AsOf(s.r.store.Files, func() time.Time { return s.filesAt(n) })
}

// filesAt is the moment whose files a node sees: in a stage that when its first
// child began, since the stage no longer waits for its turn or for somebody
// then. Zero: the files as they are.
func (s *snapshot) filesAt(n *plan.Node) time.Time {
	stage := n.Stage()
	if stage == nil || len(stage.Children) == 0 {
		return time.Time{}
	}
	return s.state(stage.Children[0].ID).StartedAt
}
