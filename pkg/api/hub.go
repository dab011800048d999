package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// Hub holds the open sockets of delegates and wakes them (engine.Waker). It
// promises nothing: a delegate that misses a word finds out by its poll or
// its heartbeat.
type Hub struct {
	mu     sync.Mutex
	lines  map[*line]struct{}
	closed bool
}

// NewHub makes a Hub.
func NewHub() *Hub { return &Hub{lines: map[*line]struct{}{}} }

// line is one open socket.
type line struct {
	delegate string
	scope    ref.Scope
	// work, looks and news hold one word: several are as good as one. cancels that
	// don't fit come with the heartbeat.
	work    chan struct{}
	looks   chan struct{}
	news    chan struct{}
	cancels chan task.ID
	hangUp  context.CancelFunc
}

// pendingCancels is how many cancels wait for a slow socket.
const pendingCancels = 64

// Wake says to every connected delegate that may have work of the scope that
// there is some. It never waits.
func (h *Hub) Wake(_ context.Context, scope ref.Scope) {
	h.tell(func(l *line) bool { return l.scope.Covers(scope) }, func(l *line) { offer(l.work, struct{}{}) })
}

// Look says to every connected delegate that may watch in the scope that there
// may be something new to watch. It never waits.
func (h *Hub) Look(_ context.Context, scope ref.Scope) {
	h.tell(func(l *line) bool { return l.scope.Covers(scope) }, func(l *line) { offer(l.looks, struct{}{}) })
}

// News says to a delegate that there is news for the GitOps agent that it is, too.
// It never waits.
func (h *Hub) News(_ context.Context, account, delegate string) {
	h.tell(ofDelegate(account, delegate), func(l *line) { offer(l.news, struct{}{}) })
}

// Cancel tells a delegate to stop a task. It never waits.
func (h *Hub) Cancel(_ context.Context, account, delegate string, id task.ID) {
	h.tell(ofDelegate(account, delegate), func(l *line) { offer(l.cancels, id) })
}

// ofDelegate chooses the lines of a delegate.
func ofDelegate(account, delegate string) func(*line) bool {
	return func(l *line) bool { return l.scope.Account == account && l.delegate == delegate }
}

// tell says something over the lines that are meant.
func (h *Hub) tell(meant func(*line) bool, say func(*line)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for l := range h.lines {
		if meant(l) {
			say(l)
		}
	}
}

// offer puts a word where there is room for it.
func offer[T any](to chan<- T, word T) {
	select {
	case to <- word:
	default:
	}
}

// Close hangs up, so that a server can stop.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for l := range h.lines {
		l.hangUp()
	}
}

// enter adds a line; false when the hub is closed.
func (h *Hub) enter(l *line) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.lines[l] = struct{}{}
	}
	return !h.closed
}

func (h *Hub) leave(l *line) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lines, l)
}

// serve says over the connection what the line hears, until one side ends.
func (h *Hub) serve(ctx context.Context, d store.Delegate, conn *websocket.Conn) error {
	ctx, hangUp := context.WithCancel(conn.CloseRead(ctx)) // delegates say nothing; reading answers their pings
	defer hangUp()
	l := &line{
		delegate: d.ID, scope: d.Scope, hangUp: hangUp,
		work: make(chan struct{}, 1), looks: make(chan struct{}, 1), news: make(chan struct{}, 1), cancels: make(chan task.ID, pendingCancels),
	}
	if !h.enter(l) {
		return nil
	}
	defer h.leave(l)
	for {
		var w protocol.Wake
		select {
		case <-ctx.Done():
			return nil
		case <-l.work:
			w = protocol.Wake{Type: "work"}
		case <-l.looks:
			w = protocol.Wake{Type: "watch"}
		case <-l.news:
			w = protocol.Wake{Type: "news"}
		case id := <-l.cancels:
			w = protocol.Wake{Type: "cancel", Task: id}
		}
		doc, err := json.Marshal(w)
		if err != nil {
			return fmt.Errorf("encode a wake-up: %w", err)
		}
		if err := conn.Write(ctx, websocket.MessageText, doc); err != nil {
			return fmt.Errorf("wake delegate %s: %w", d.Name, err)
		}
	}
}

// socket opens a delegate's WebSocket.
func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	d, err := s.station.delegate(r.Context(), r.PathValue("id"))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // Accept has answered
	}
	defer conn.CloseNow() //nolint:errcheck // closed already is as good
	if err := s.Hub.serve(r.Context(), d, conn); err != nil && r.Context().Err() == nil {
		s.Log.DebugContext(r.Context(), "a delegate's socket broke", "delegate", d.Name, "error", err)
	}
	_ = conn.Close(websocket.StatusGoingAway, "") // closed already is as good
}
