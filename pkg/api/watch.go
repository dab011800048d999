package api

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// The events of a watched execution. The first is always the tree, as
// getExecution answers it, also after a reconnect; then comes what changed since
// the last event, or the tree again when it has other nodes: by the iterations
// of a loop. The stream ends with the execution.
const (
	EventTree   = "tree"   // ExecutionTree
	EventChange = "change" // ExecutionChange
	eventPoll   = "poll"   // pollAgain: nobody stays to follow it here, as on AWS
)

// pollAgain says how to follow an execution where no stream does.
type pollAgain struct {
	Seconds int `json:"seconds" doc:"How long to wait before the execution is read again"`
}

// pollSeconds is what people wait for at most, and what a request is worth.
const pollSeconds = 3

// ExecutionChange is what has changed of an execution since the last event.
type ExecutionChange struct {
	Execution Execution             `json:"execution"`
	Nodes     []*execution.TreeNode `json:"nodes" nullable:"false" doc:"The nodes that aren't as they were, without their children"`
}

const (
	// watchPause is the least time between two looks at an execution; bursts
	// of changes are seen at once.
	watchPause = 50 * time.Millisecond
	// watchRest is how many times as long as a look took there is no other after
	// it, at least: whoever watches a large execution doesn't keep a processor busy,
	// and sees at once what changes after a while.
	watchRest = 4
	// watchPeriod is the longest: it finds changes that another process made,
	// and keeps idle connections open.
	watchPeriod = 15 * time.Second
)

func (s *Server) watching() {
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "watchExecution", Method: http.MethodGet, Path: "/v1/executions/{execution}/events", Tags: []string{"Executions"},
		Summary: "Follow an execution as server-sent events: first the tree, then each change",
	}, s.steering.watchExecution, func(api huma.API, op *huma.Operation) {
		op.Responses["200"] = &huma.Response{
			Description: "Events named tree, whose data is an ExecutionTree, and change, whose data is an ExecutionChange; where nobody follows it, as on AWS, poll after the tree",
			Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: &huma.Schema{AnyOf: []*huma.Schema{schemaOf[ExecutionTree](api), schemaOf[ExecutionChange](api), schemaOf[pollAgain](api)}},
			}},
		}
	})
}

func (s *steering) watchExecution(ctx context.Context, in *OfExecution) (*huma.StreamResponse, error) {
	changed, stop := s.Feed.Follow(in.ID)
	watcher := s.Executions.Watch(in.ID)
	tree, err := s.look(ctx, watcher)
	if err != nil {
		watcher.Close()
		stop()
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer stop()
		defer watcher.Close()
		_, w := humago.Unwrap(hc)
		stream := eventStream{w: w, control: http.NewResponseController(w)}
		if err := s.follow(ctx, &stream, watcher, tree, changed); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "a watched execution's stream broke", "execution", in.ID, "error", err)
		}
	}}, nil
}

// follow sends the tree and then what changes, until the execution ends or the
// caller's token is revoked.
func (s *steering) follow(ctx context.Context, stream *eventStream, watcher *execution.Watcher, tree ExecutionTree, changed <-chan struct{}) error {
	scope := ref.Scope{Account: caller(ctx).Scope.Account, Org: tree.Org, Project: tree.Project}
	seen, _ := sightings{}.look(tree.Root)
	if err := stream.open(EventTree, tree); err != nil {
		return err
	}
	if s.Feed == nil && !tree.Status.Terminal() {
		stream.send(eventPoll, pollAgain{Seconds: pollSeconds})
		return stream.flush()
	}
	var rested time.Time
	for status := tree.Status; !tree.Status.Terminal(); status = tree.Status {
		if !await(ctx, changed, rested) {
			return nil
		}
		now, err := s.goesOn(ctx)
		if err == nil {
			err = now.Allow(ctx, action.ExecutionView, right.Resource{Scope: scope, ID: tree.Pipeline})
		}
		if err != nil {
			return err
		}
		begun := time.Now()
		if tree, err = s.look(ctx, watcher); err != nil {
			return err
		}
		rested = time.Now().Add(min(watchRest*time.Since(begun), watchPeriod))
		sees, nodes := seen.look(tree.Root)
		others := !sees.of(seen)
		seen = sees
		switch {
		case others:
			stream.send(EventTree, tree)
		case len(nodes) > 0 || tree.Status != status:
			stream.send(EventChange, ExecutionChange{Execution: tree.Execution, Nodes: list(nodes)})
		}
		if err := stream.flush(); err != nil {
			return err
		}
	}
	return nil
}

// look reads an execution in the turn of its watcher's project.
func (s *steering) look(ctx context.Context, watcher *execution.Watcher) (ExecutionTree, error) {
	leave, err := s.Work.enter(ctx)
	if err != nil {
		return ExecutionTree{}, err
	}
	defer leave()
	t, err := watcher.Describe(ctx, execution.Part{})
	if err != nil {
		return ExecutionTree{}, err
	}
	return treeOf(t)
}

// await waits for the next look at an execution, which isn't before rested; false
// when there is none.
func await(ctx context.Context, changed <-chan struct{}, rested time.Time) bool {
	period := time.NewTimer(watchPeriod)
	defer period.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-period.C:
		return true
	case _, open := <-changed:
		if !open {
			return false
		}
	}
	pause := time.NewTimer(max(watchPause, time.Until(rested)))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-pause.C:
		return true
	}
}

// sightings are nodes as they were sent last: digests, for there are as many
// as an answer has nodes, for everybody who watches.
type sightings map[plan.NodeID][sha256.Size]byte

// look gives the nodes of a tree as they are now, and those that aren't as they
// were, in its order.
func (s sightings) look(root *execution.TreeNode) (now sightings, changed []*execution.TreeNode) {
	now = make(sightings, len(s))
	var walk func(*execution.TreeNode)
	walk = func(n *execution.TreeNode) {
		bare := *n
		bare.Children = nil
		doc, err := json.Marshal(bare)
		now[n.ID] = sha256.Sum256(doc)
		if before, seen := s[n.ID]; err != nil || !seen || before != now[n.ID] {
			changed = append(changed, &bare)
		}
		for _, c := range n.Children {
			walk(c)
		}
	}
	walk(root)
	return now, changed
}

// of says whether s has the same nodes as t, which may have changed.
func (s sightings) of(t sightings) bool {
	for id := range s {
		if _, ok := t[id]; !ok {
			return false
		}
	}
	return len(s) == len(t)
}

// eventStream writes server-sent events. It keeps the first error.
type eventStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	err     error
}

// open begins the answer with a first event.
func (e *eventStream) open(name string, data any) error {
	h := e.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // proxies that collect answers
	_ = e.control.SetWriteDeadline(time.Time{})
	e.w.WriteHeader(http.StatusOK)
	e.send(name, data)
	return e.flush()
}

func (e *eventStream) send(name string, data any) {
	doc, err := json.Marshal(data)
	if e.err == nil && err == nil {
		_, err = fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, doc)
	}
	if e.err == nil {
		e.err = err
	}
}

// flush sends what was written. Without news it sends a comment, which finds
// out that the reader has gone.
func (e *eventStream) flush() error {
	if e.err == nil {
		_, e.err = fmt.Fprint(e.w, ":\n\n")
	}
	if e.err == nil {
		e.err = e.control.Flush()
	}
	if errors.Is(e.err, http.ErrNotSupported) {
		e.err = nil // the answer is sent whole when it ends
	}
	return e.err
}
