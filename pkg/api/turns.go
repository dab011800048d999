package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/share"
)

// Work divides the processor among projects, where one process answers for all
// of them: of the requests that take much of it a few are answered at once, half
// of them of one project, and projects take turns. It has nothing of a request
// that waits for a body, for a reader or for news.
type Work struct {
	people, strangers *share.Places // strangers come without a token
	full              func() bool   // there is hardly any memory left
}

const (
	// workQueue is how many requests of one project wait for their turn.
	workQueue = 256
	// workWait is how long they do.
	workWait = time.Minute
)

// NewWork makes a Work for so many requests at once; of those without a token
// as many again. full says whether the process has hardly any memory left: what
// takes much is then put off.
func NewWork(atOnce int, full func() bool) *Work {
	places := func() *share.Places { return share.New(atOnce, max(atOnce/2, 1), workQueue) }
	return &Work{people: places(), strangers: places(), full: full}
}

// inTurn is the handler of an endpoint that reads documents, makes plans or
// looks at whole executions: a request, whose body is there, is answered when
// its project's turn comes. A handler that also waits enters by itself, for as
// long as it doesn't.
func inTurn[I, O any](s *Server, f func(context.Context, *I) (*O, error)) func(context.Context, *I) (*O, error) {
	return func(ctx context.Context, in *I) (*O, error) {
		leave, err := s.Work.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
		return f(ctx, in)
	}
}

// project keeps whose request it is: a project's token stands for it, whatever
// the request says, and so does an organization's; that of the account for what
// the request names. Without a token it is the address's.
func (s *Server) project(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := remote(r)
		if t := caller(r.Context()); t.ID != "" {
			scope := t.Scope
			if scope.Org == "" {
				q := r.URL.Query()
				scope = ref.Scope{Account: scope.Account, Org: q.Get("org"), Project: q.Get("project")}
			}
			who = scope.String()
		}
		next.ServeHTTP(w, r.WithContext(share.With(r.Context(), who)))
	})
}

// enter waits for the turn of a request's project. leave ends it.
func (w *Work) enter(ctx context.Context) (leave func(), err error) {
	if w == nil {
		return func() {}, nil
	}
	if w.full() {
		return nil, fault.New(fault.Unavailable, "the server has hardly any memory left; try again later")
	}
	places, whose := w.people, "this project"
	if caller(ctx).ID == "" {
		places, whose = w.strangers, "this address"
	}
	waiting, cancel := context.WithTimeout(ctx, workWait)
	defer cancel()
	leave, err = places.Enter(waiting, share.Who(ctx))
	switch {
	case err == nil:
		return leave, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, share.ErrFull), errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(fault.TooMany, "too many requests of %s that take long are waiting (%d at most, for %s); try again later", whose, workQueue, workWait)
	}
	return nil, err
}
