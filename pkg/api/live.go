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
	"github.com/slipway-cd/slipway/pkg/live"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// eventHint is the event that a page with executions is told by: a hint.
const eventHint = "hint"

// hintPause is the least time between two hints: a list that somebody looks at is read
// once a second at most, however much runs.
const hintPause = time.Second

// hints tell pages that show executions when to read them again.
func hints(s *Server) {
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "watchExecutions", Method: http.MethodGet, Path: "/v1/live", Tags: []string{"Executions"},
		Summary: "Hear by server-sent events which executions of a scope change",
	}, s.steering.watchExecutions, func(api huma.API, op *huma.Operation) {
		op.Responses["200"] = &huma.Response{
			Description: "Events named hint; where nobody stays to follow executions, as on AWS, poll after the first",
			Content: map[string]*huma.MediaType{"text/event-stream": {
				Schema: &huma.Schema{AnyOf: []*huma.Schema{schemaOf[live.Hint](api), schemaOf[pollAgain](api)}},
			}},
		}
	})
	handle(s, action.ExecutionView, huma.Operation{
		OperationID: "makeLiveTicket", Method: http.MethodPost, Path: "/v1/live/tickets", Tags: []string{"Executions"},
		Summary: "Get a ticket for the WebSocket by which a page hears which executions of a scope change, or that one does, on AWS",
	}, (&tickets{Store: s.Store, Viewers: s.Viewers, Socket: s.Timing.Socket, Now: s.Now}).makeLiveTicket)
}

// tickets let pages hear of executions over the WebSocket of delegates.
type tickets struct {
	Store   store.Store
	Viewers store.Viewers // nil: there is no such WebSocket
	Socket  string
	Now     func() time.Time
}

// maxViewers is how many pages of an account hear of executions over WebSockets at once.
const maxViewers = 1000

// liveTicket is a ticket, and where it is shown.
type liveTicket struct {
	URL       string    `json:"url" doc:"Where to connect, with the ticket as the parameter ticket"`
	Ticket    string    `json:"ticket" doc:"It lets one connection in, of a page of the origin that asked for it"`
	ExpiresAt time.Time `json:"expiresAt"`
}

// wantsTicket is a request to hear of a scope's executions, of which some may be seen,
// or of one.
type wantsTicket struct {
	Scoped
	Execution string `query:"execution" maxLength:"128" doc:"Hear of this one alone"`
	Origin    string `header:"Origin" maxLength:"512" doc:"The page's, as browsers tell it"`
}

func (in *wantsTicket) about(ctx context.Context, s *Server) (right.Resource, error) {
	return someOf(in.Scoped.about(ctx, s))
}

func (s *tickets) makeLiveTicket(ctx context.Context, in *wantsTicket) (*struct{ Body liveTicket }, error) {
	if s.Viewers == nil {
		return nil, fault.New(fault.Unsupported, "this server has no WebSocket for pages; GET /v1/live tells the same by server-sent events")
	}
	scope, err := in.scope(ctx)
	if err != nil {
		return nil, err
	}
	v := store.Viewer{Token: caller(ctx).ID, Since: caller(ctx).CreatedAt, Scope: scope, Execution: in.Execution}
	if in.Execution != "" {
		e, err := s.Store.Execution(ctx, in.Execution)
		if err == nil && !scope.Covers(e.Scope) {
			err = fault.New(fault.NotFound, "there is no execution %q in %s", in.Execution, scope)
		}
		if err == nil {
			err = asker(ctx).Allow(ctx, action.ExecutionView, live.Resource(e))
		}
		if err != nil {
			return nil, err
		}
	}
	all, err := s.Viewers.Viewers(ctx, scope.Account)
	if err == nil && len(all) >= maxViewers {
		err = fault.New(fault.TooMany, "%d pages hear of executions already; look again every few seconds instead", len(all))
	}
	if err != nil {
		return nil, err
	}
	text, expires, err := live.Issue(ctx, s.Store.Keys, v, in.Origin, s.Now())
	return &struct{ Body liveTicket }{liveTicket{URL: s.Socket, Ticket: text, ExpiresAt: expires}}, err
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
	if err := stream.open(eventHint, live.Hint{Executions: []string{}, All: true}); err != nil {
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
// see.
func (s *steering) changedIn(ctx context.Context, who grants.Caller, scope ref.Scope, heard *listener) (live.Hint, error) {
	leave, err := s.Work.enter(ctx)
	if err != nil {
		return live.Hint{}, err
	}
	defer leave()
	ids, more := s.Feed.take(heard)
	var found []store.Execution
	for _, id := range ids {
		e, err := s.Store.Execution(ctx, id)
		switch {
		case fault.Is(err, fault.NotFound): // deleted since
		case err != nil:
			return live.Hint{}, err
		case scope.Covers(e.Scope) && !e.Preview: // previews are in no list
			found = append(found, e)
		}
	}
	out, err := live.Of(ctx, who, found)
	out.All = more
	return out, err
}
