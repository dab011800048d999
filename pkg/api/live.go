package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// eventHint is the event that a page with executions is told by: a hint.
const eventHint = "hint"

// hint says that executions have changed, never how: whoever shows them asks again. One
// that comes twice, late or not at all costs nothing but time.
type hint struct {
	Executions []string `json:"executions" nullable:"false" doc:"The ids of those of which something has changed"`
	All        bool     `json:"all,omitempty" doc:"Others may have, too: the first hint says so, as nobody knows what has changed before, and one after very many changes"`
}

// hintPause is the least time between two hints: a list that somebody looks at is read
// once a second at most, however much runs.
const hintPause = time.Second

// live tells pages that show executions when to read them again.
func live(s *Server) {
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "watchExecutions", Method: http.MethodGet, Path: "/v1/live", Tags: []string{"Executions"},
		Summary: "Hear by server-sent events which executions of a scope change",
	}, s.steering.watchExecutions, func(api huma.API, op *huma.Operation) {
		op.Responses["200"] = &huma.Response{
			Description: "Events named hint; where nobody follows executions, as on AWS, poll after the first",
			Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: &huma.Schema{AnyOf: []*huma.Schema{schemaOf[hint](api), schemaOf[pollAgain](api)}},
			}},
		}
	})
}

// watchesExecutions is a request to hear of a scope's executions, of which some may be
// seen.
type watchesExecutions struct{ Scoped }

func (in *watchesExecutions) about(ctx context.Context, s *Server) (right.Resource, error) {
	return someOf(in.Scoped.about(ctx, s))
}

func (s *steering) watchExecutions(ctx context.Context, in *watchesExecutions) (*huma.StreamResponse, error) {
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		stream := eventStream{w: w, control: http.NewResponseController(w)}
		if err := s.hint(ctx, &stream, scope); err != nil && ctx.Err() == nil {
			s.Log.WarnContext(ctx, "a stream of hints broke", "scope", scope, "error", err)
		}
	}}, nil
}

// hint tells of changes until the caller goes, or may no longer see executions.
func (s *steering) hint(ctx context.Context, stream *eventStream, scope ref.Scope) error {
	heard, stop := s.Feed.listen()
	defer stop()
	if err := stream.open(eventHint, hint{Executions: []string{}, All: true}); err != nil {
		return err
	}
	if s.Feed == nil {
		stream.send(eventPoll, pollAgain{Seconds: pollSeconds})
		return stream.flush()
	}
	var rested time.Time
	for await(ctx, heard.changes, rested) {
		now, err := s.goesOn(ctx)
		if err == nil {
			err = now.Allow(ctx, action.ExecutionView, right.Resource{Scope: scope, Some: true})
		}
		if err != nil {
			return err
		}
		begun := time.Now()
		changed, err := s.changedIn(ctx, now, scope, heard)
		if err != nil {
			return err
		}
		if len(changed.Executions) > 0 || changed.All {
			stream.send(eventHint, changed)
			rested = time.Now().Add(max(hintPause, min(watchRest*time.Since(begun), watchPeriod)))
		}
		if err := stream.flush(); err != nil {
			return err
		}
	}
	return nil
}

// changedIn is what a listener has heard that concerns a scope and that who asks may
// see. Previews are in no list.
func (s *steering) changedIn(ctx context.Context, who grants.Caller, scope ref.Scope, heard *listener) (hint, error) {
	leave, err := s.Work.enter(ctx)
	if err != nil {
		return hint{}, err
	}
	defer leave()
	ids, more := s.Feed.take(heard)
	var found []store.Execution
	for _, id := range ids {
		e, err := s.Store.Execution(ctx, id)
		switch {
		case fault.Is(err, fault.NotFound): // deleted since
		case err != nil:
			return hint{}, err
		case scope.Covers(e.Scope) && !e.Preview:
			found = append(found, e)
		}
	}
	if found, err = grants.Sees(ctx, who, action.ExecutionView, found, resourceOf); err != nil {
		return hint{}, err
	}
	out := hint{Executions: make([]string, len(found)), All: more}
	for i, e := range found {
		out.Executions[i] = e.ID
	}
	return out, nil
}
