package execution

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// maxWatched is how many nodes' states all watchers of a process keep together: of
// ten executions with 10,000 nodes, some 80 MB. Whoever comes later keeps none, and
// reads all of them at each look.
const maxWatched = 100_000

// Watcher looks at one execution again and again. It keeps what it needs of the
// nodes' states, so that a look decodes those alone that have changed. One
// goroutine uses it, and closes it at the end.
type Watcher struct {
	service  *Service
	id       string
	versions map[plan.NodeID]int64
	states   map[plan.NodeID]plan.State
	counted  int64 // of the states, in Service.watched
}

// Watch begins to look at an execution.
func (s *Service) Watch(id string) *Watcher {
	return &Watcher{service: s, id: id, versions: map[plan.NodeID]int64{}, states: map[plan.NodeID]plan.State{}}
}

// Describe is Service.Describe.
func (w *Watcher) Describe(ctx context.Context, part Part) (Tree, error) {
	return w.service.describe(ctx, w.id, part, w.read)
}

// Close forgets what was kept.
func (w *Watcher) Close() {
	w.service.watched.Add(-w.counted)
	w.counted, w.versions, w.states = 0, map[plan.NodeID]int64{}, map[plan.NodeID]plan.State{}
}

// read reads what has changed. Records of nodes are never deleted.
func (w *Watcher) read(ctx context.Context, id string) (map[plan.NodeID]plan.State, error) {
	changed, err := w.service.Store.ChangedNodes(ctx, id, w.versions)
	if err != nil {
		return nil, err
	}
	for _, n := range changed {
		w.versions[n.ID], w.states[n.ID] = n.Version, seenOf(n.State)
	}
	states := w.states
	more := int64(len(states)) - w.counted
	w.counted += more
	if w.service.watched.Add(more) > maxWatched {
		w.Close()
	}
	return states, nil
}

// seenOf is what a tree takes of a state: without what steps put out and what was
// tried before, which may be large.
func seenOf(s plan.State) plan.State {
	return plan.State{
		Status: s.Status, Message: s.Message, StartedAt: s.StartedAt, EndedAt: s.EndedAt, Attempt: s.Attempt, Approval: s.Approval,
		Decided: s.Decided, Child: s.Child, Answered: s.Answered, Iterations: s.Iterations,
	}
}
