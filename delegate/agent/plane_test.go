package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/slipway-cd/slipway/delegate/agent"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/inprocess"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const token = "dlg.default.t1.random"

// plane is the delegate's part of the control plane's API, with its real HTTP
// contract, over a list in memory.
type plane struct {
	t      testing.TB
	timing protocol.Registered

	mu        sync.Mutex
	open      []task.Assignment
	held      map[task.ID]task.Assignment
	heldBy    map[task.ID]int64 // the number of the claim that got it
	results   map[task.ID]task.Result
	done      chan task.ID // each result that was taken
	logs      map[task.ID][][]byte
	requests  map[string]int // by what was asked: "claim", "heartbeat", ...
	registers []protocol.Register
	beats     []protocol.Heartbeat
	claims    []protocol.Claim
	released  []task.ID
	cancelled []task.ID // told with the next heartbeat
	resolved  func(protocol.Resolve) protocol.Resolved
	stored    func(protocol.ReadFiles) (protocol.FilesRead, error)
	// checkpoint answers the nth request to keep a checkpoint.
	checkpoint func(n int, in protocol.KeepCheckpoint) (task.Checkpoint, error)
	// token answers a request for another token; of a watch the task is empty.
	token  func(of task.ID, identity string) (any, error)
	socket *websocket.Conn
	opened chan struct{} // a signal for each socket
	deaf   bool          // sockets stay open but nobody reads them

	watch    []task.Watch // to be watched; of each id the one with the highest fence
	asked    []protocol.Watching
	observed chan task.Observed // each report that was taken

	// refuse may answer a request instead of the plane: an error or nothing.
	refuse func(what string, n int) error
	// claiming is called before a claim is answered.
	claiming func()
	// beating is called before the nth heartbeat is answered.
	beating func(n int)
	// cut may end the connection in place of the answer to the nth claim that got
	// something, after it was granted.
	cut func(n int) bool
	got int // claims that got something
}

func newPlane(tb testing.TB) *plane {
	tb.Helper()
	return &plane{
		t: tb, timing: protocol.Registered{HeartbeatEvery: time.Minute, PollEvery: time.Minute},
		held: map[task.ID]task.Assignment{}, heldBy: map[task.ID]int64{}, results: map[task.ID]task.Result{}, logs: map[task.ID][][]byte{},
		requests: map[string]int{}, done: make(chan task.ID, 100_000), opened: make(chan struct{}, 100),
		observed: make(chan task.Observed, 100),
	}
}

// handler serves the contract.
func (p *plane) handler() http.Handler {
	mux := http.NewServeMux()
	handle(p, mux, "POST /v1/delegate/register", "register", p.register)
	handle(p, mux, "POST /v1/delegate/{id}/claim", "claim", p.claim)
	handle(p, mux, "POST /v1/delegate/{id}/heartbeat", "heartbeat", p.heartbeat)
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/logs", "logs", p.appendLogs)
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/resolve", "resolve", p.resolve)
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/files", "files", func(_ task.ID, in protocol.ReadFiles) (any, error) { return p.stored(in) })
	asked := 0
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/checkpoint", "checkpoint", func(_ task.ID, in protocol.KeepCheckpoint) (any, error) {
		asked++
		return p.checkpoint(asked, in)
	})
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/token", "token", func(id task.ID, in protocol.FreshToken) (any, error) { return p.token(id, in.Identity) })
	handle(p, mux, "POST /v1/delegate/{id}/watches/token", "token", func(id task.ID, in protocol.WatchToken) (any, error) { return p.token(id, in.Identity) })
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/result", "result", p.result)
	handle(p, mux, "POST /v1/delegate/{id}/tasks/{task}/release", "release", p.release)
	handle(p, mux, "POST /v1/delegate/{id}/watches", "watches", p.watches)
	handle(p, mux, "POST /v1/delegate/{id}/instances", "instances", p.observe)
	handle(p, mux, "DELETE /v1/delegate/{id}", "goodbye", func(task.ID, struct{}) (any, error) { return nil, nil })
	mux.HandleFunc("GET /v1/delegate/{id}/socket", p.serveSocket)
	return mux
}

// handle decodes, asks and encodes; a nil answer is 204.
func handle[T any](p *plane, mux *http.ServeMux, pattern, what string, f func(task.ID, T) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		var in T
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				p.t.Errorf("%s: %v", what, err)
			}
		}
		err := p.admit(r, what)
		var out any
		if err == nil {
			out, err = f(task.ID(r.PathValue("task")), in)
		}
		switch {
		case err != nil:
			writeError(w, err)
		case out == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(out)
		}
	})
}

func (p *plane) admit(r *http.Request, what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests[what]++
	if r.Header.Get("Authorization") != "Bearer "+token {
		return fault.New(fault.Unauthenticated, "no such token")
	}
	if p.refuse != nil {
		return p.refuse(what, p.requests[what])
	}
	return nil
}

func writeError(w http.ResponseWriter, err error) {
	status := map[fault.Code]int{
		fault.LeaseLost: 409, fault.NotFound: 404, fault.Unauthenticated: 401, fault.Invalid: 400, fault.Unavailable: 503, fault.TooLarge: 413,
	}[fault.CodeOf(err)]
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": fault.CodeOf(err), "message": err.Error()})
}

func (p *plane) register(_ task.ID, in protocol.Register) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.registers = append(p.registers, in)
	return p.timing, nil
}

func (p *plane) claim(_ task.ID, in protocol.Claim) (any, error) {
	if p.claiming != nil {
		p.claiming()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.claims = append(p.claims, in)
	p.reopen(in.Lost)
	got := p.grant(in)
	if len(got) > 0 {
		p.got++
		if p.cut != nil && p.cut(p.got) {
			panic(http.ErrAbortHandler)
		}
	}
	return map[string]any{"tasks": got}, nil
}

// grant gives a claim what it asks for. The caller holds the lock.
func (p *plane) grant(in protocol.Claim) []task.Assignment {
	n := min(in.Max, len(p.open))
	got := slices.Clone(p.open[:n])
	p.open = slices.Delete(p.open, 0, n)
	for i := range got {
		got[i].Fence++
		p.held[got[i].ID], p.heldBy[got[i].ID] = got[i], in.Number
	}
	return got
}

// reopen offers again what lost claims got.
func (p *plane) reopen(lost []int64) {
	for id, number := range p.heldBy {
		if t, held := p.held[id]; held && slices.Contains(lost, number) {
			p.open = append(p.open, t)
			delete(p.held, id)
		}
	}
}

func (p *plane) heartbeat(_ task.ID, in protocol.Heartbeat) (any, error) {
	if p.beating != nil {
		p.beating(p.count("heartbeat"))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beats = append(p.beats, in)
	out := protocol.HeartbeatAnswer{Cancel: p.cancelled}
	p.cancelled = nil
	return out, nil
}

func (p *plane) watches(_ task.ID, in protocol.Watching) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, in)
	out := protocol.Watches{}
	for _, w := range p.watch {
		if !slices.Contains(in.Held, task.Watched{ID: w.ID, Fence: w.Fence}) {
			out.Watch = append(out.Watch, w)
		}
	}
	for _, h := range in.Held {
		if !slices.ContainsFunc(p.watch, func(w task.Watch) bool { return w.ID == h.ID }) {
			out.Drop = append(out.Drop, h.ID)
		}
	}
	return out, nil
}

func (p *plane) observe(_ task.ID, in task.Observed) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.watch, func(w task.Watch) bool { return w.ID == in.ID && w.Fence == in.Fence }) {
		return nil, fault.New(fault.LeaseLost, "watch %s isn't held with fence %d", in.ID, in.Fence)
	}
	p.observed <- in
	return nil, nil
}

// want says what is to be watched from now on.
func (p *plane) want(list ...task.Watch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watch = list
}

func (p *plane) holds(id task.ID, fence int64) error {
	if h, ok := p.held[id]; !ok || h.Fence != fence {
		return fault.New(fault.LeaseLost, "task %s isn't held with fence %d", id, fence)
	}
	return nil
}

func (p *plane) result(id task.ID, in protocol.Report) (any, error) {
	doc, err := json.Marshal(in) // as it came: nothing of it is unknown here
	if err != nil || len(doc) > task.MaxResult {
		return nil, fault.New(fault.TooLarge, "the result has %d bytes, %v", len(doc), err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.holds(id, in.Fence); err != nil {
		return nil, err
	}
	delete(p.held, id)
	p.results[id] = in.Result
	p.done <- id
	return nil, nil
}

func (p *plane) appendLogs(id task.ID, in protocol.LogBatch) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ended := p.results[id]; !ended { // who held it last may still say what it has logged
		if err := p.holds(id, in.Fence); err != nil {
			return nil, err
		}
	}
	if int(in.First) != len(p.logs[id]) {
		p.t.Errorf("log chunk %d comes after %d chunks", in.First, len(p.logs[id]))
	}
	p.logs[id] = append(p.logs[id], in.Chunks...)
	return nil, nil
}

func (p *plane) resolve(id task.ID, in protocol.Resolve) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.holds(id, in.Fence); err != nil {
		return nil, err
	}
	return p.resolved(in), nil
}

func (p *plane) release(id task.ID, in protocol.Held) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.holds(id, in.Fence); err != nil {
		return nil, err
	}
	p.released = append(p.released, id)
	return nil, nil
}

func (p *plane) serveSocket(w http.ResponseWriter, r *http.Request) {
	if err := p.admit(r, "socket"); err != nil {
		writeError(w, err)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		p.t.Errorf("accept a socket: %v", err)
		return
	}
	p.mu.Lock()
	p.socket = conn
	p.mu.Unlock()
	p.opened <- struct{}{}
	if p.deaf {
		<-r.Context().Done()
		return
	}
	_, _, _ = conn.Read(r.Context()) // answers pings until it closes
}

// say sends a message over the socket.
func (p *plane) say(w protocol.Wake) {
	p.t.Helper()
	doc, err := json.Marshal(w)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	conn := p.socket
	p.mu.Unlock()
	if err := conn.Write(context.Background(), websocket.MessageText, doc); err != nil {
		p.t.Errorf("write to the socket: %v", err)
	}
}

// offer opens tasks, without waking anybody.
func (p *plane) offer(tasks ...task.Assignment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open = append(p.open, tasks...)
}

func (p *plane) count(what string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests[what]
}

func (p *plane) resultOf(id task.ID) (task.Result, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.results[id]
	return r, ok
}

// assignment is an open task of kind "test".
func assignment(id string) task.Assignment {
	return task.Assignment{
		ID: task.ID(id), Kind: "test", Payload: json.RawMessage(`{}`), Timeout: time.Hour, Lease: 30 * time.Second,
		LogStream: "e1/n1/1", Execution: "e1", Node: "n1", Attempt: 1,
	}
}

// started is an agent under test.
type started struct {
	*plane
	agent *agent.Agent
	stop  func() // as SIGTERM does
	end   chan error
}

// start runs an agent whose requests go to the plane in this process.
func (p *plane) start(run executor.Executor, change func(*agent.Config)) *started {
	cfg := agent.Config{
		URL: "http://slipway", Token: token, Name: "blue", Host: "h1", Tags: []string{"eu"}, Version: "v1", Capacity: 10,
		Kinds:   map[task.Kind]executor.Kind{"test": {Do: run}},
		HTTP:    &http.Client{Transport: inprocess.RoundTripper(p.handler())},
		Scratch: p.t.TempDir(), Log: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&cfg)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &started{plane: p, agent: agent.New(cfg), stop: stop, end: make(chan error, 1)}
	go func() { s.end <- s.agent.Run(ctx) }()
	return s
}

// finish stops the agent and wants no error.
func (s *started) finish() {
	s.t.Helper()
	s.stop()
	if err := <-s.end; err != nil {
		s.t.Errorf("the agent ended with %v", err)
	}
}

// succeed is an executor that does nothing.
func succeed(context.Context, task.Assignment, executor.Env) (task.Result, error) {
	return task.Result{Status: task.Succeeded}, nil
}

// elapse lets time pass, inside a bubble of synctest, where that takes none.
func elapse(d time.Duration) { <-time.After(d) }

// ids names n tasks.
func ids(n int) []task.Assignment {
	out := make([]task.Assignment, n)
	for i := range out {
		out[i] = assignment(fmt.Sprintf("t%d", i))
	}
	return out
}
