package wire

import (
	"bufio"
	"context"
	"net"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/pkg/task"
)

// settled are the doors of a process that commits first and brings to the disk
// later (sqlitedb.DB.Apply): through none of them goes anything that a loss of
// power could take back. docs/decisions/0005 lists them all.
type settled struct{ db *sqlitedb.DB }

// handler gives no answer out before all that it may tell of is on disk. One
// that the disk has failed isn't given.
func (s settled) handler(next http.Handler) settledHandler { return settledHandler{s.db, next} }

type settledHandler struct {
	db   *sqlitedb.DB
	next http.Handler
}

// ServeHTTP answers a request.
func (h settledHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := &settledWriter{ResponseWriter: w, db: h.db}
	h.next.ServeHTTP(s, r)
	s.settle() // the answer may be empty
}

// settledWriter settles before each part of an answer.
type settledWriter struct {
	http.ResponseWriter
	db *sqlitedb.DB
}

func (w *settledWriter) settle() {
	if w.db.Settle() != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // how an answer is broken off; the process is about to end
	}
}

// WriteHeader sends the status.
func (w *settledWriter) WriteHeader(status int) {
	w.settle()
	w.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (w *settledWriter) Write(p []byte) (int, error) {
	w.settle()
	return w.ResponseWriter.Write(p)
}

// FlushError sends what has been written, the status at least.
func (w *settledWriter) FlushError() error {
	w.settle()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack gives the connection away: to the hub, whose words waker lets out.
func (w *settledWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.settle()
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// Unwrap is for http.ResponseController.
func (w *settledWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// waker says to delegates what is on disk: that a task was cancelled. That
// there may be work tells of nothing.
func (s settled) waker(h *api.Hub) settledWaker { return settledWaker{s.db, h} }

type settledWaker struct {
	db  *sqlitedb.DB
	hub *api.Hub
}

// Wake says that there may be work (engine.Waker).
func (w settledWaker) Wake(ctx context.Context, scope ref.Scope) { w.hub.Wake(ctx, scope) }

// Look says that there may be something new to watch (engine.Waker).
func (w settledWaker) Look(ctx context.Context, scope ref.Scope) { w.hub.Look(ctx, scope) }

// News says that there is news for a GitOps agent (engine.Waker).
func (w settledWaker) News(ctx context.Context, account, delegate string) {
	w.hub.News(ctx, account, delegate)
}

// Cancel says that a task was cancelled (engine.Waker).
func (w settledWaker) Cancel(ctx context.Context, account, delegate string, id task.ID) {
	if w.db.Settle() == nil {
		w.hub.Cancel(ctx, account, delegate, id)
	}
}

// subscriber hears of events that are on disk.
func (s settled) subscriber(to feed.Subscriber) feed.Subscriber {
	handle := to.Handle
	to.Handle = func(ctx context.Context, e feed.Event) error {
		if err := s.db.Settle(); err != nil {
			return err
		}
		return handle(ctx, e)
	}
	return to
}
