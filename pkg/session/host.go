package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// Host owns a workspace: it has steps run and keeps how they went.
type Host struct {
	ID string
	// Workspace is the folder that the steps share, Control that of the host's own.
	Workspace, Control string
	// Spawn begins the entry of an attempt; it says hello with the token.
	Spawn func(step string, attempt int, token string) error
	// Orphan is how long nobody may ask before the host ends; 0: an hour.
	Orphan time.Duration

	mu      sync.Mutex
	started time.Time
	contact time.Time
	runs    map[string]*run
	done    chan struct{} // is closed when the session is
	closed  bool
	lender  lender
}

// run is an attempt.
type run struct {
	begun
	start   Start // with its secrets; only until the entry has it
	token   string
	entry   *line[fromEntry, toEntry]
	journal *journal
	state   State
	changed chan struct{} // is closed and replaced at each change
	timer   *time.Timer
}

// orphanAfter is how long nobody may ask before a host ends.
const orphanAfter = time.Hour

// lookEvery is how often a host looks whether anybody still wants it: one whose
// folder is gone has nothing left to serve.
const lookEvery = 2 * time.Second

// longest is how long a session may be, whoever asks.
const longest = 24 * time.Hour

// Serve answers delegates on one listener and entries on the other, until the
// session is closed, its time is up, or nobody has asked for long.
func (h *Host) Serve(ctx context.Context, delegates, entries net.Listener) error {
	h.started = time.Now()
	h.contact, h.runs, h.done = h.started, map[string]*run{}, make(chan struct{})
	if h.Orphan == 0 {
		h.Orphan = orphanAfter
	}
	go h.welcome(entries)
	server := &http.Server{Handler: h.handler(), ReadHeaderTimeout: time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(delegates) }()
	defer h.lender.close()
	look := time.NewTicker(min(lookEvery, max(h.Orphan/10, 10*time.Millisecond)))
	defer look.Stop()
	for {
		select {
		case err := <-failed:
			h.close()
			return fmt.Errorf("serve the session: %w", err)
		case <-ctx.Done():
			h.close()
			return nil
		case <-h.done:
			// Who asked for the end gets his answer.
			own, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
			defer stop()
			_ = server.Shutdown(own) // it ends either way
			return nil
		case now := <-look.C:
			h.mu.Lock()
			over := now.Sub(h.contact) > h.Orphan || now.Sub(h.started) > longest
			h.mu.Unlock()
			if _, err := os.Stat(h.Workspace); over || errors.Is(err, os.ErrNotExist) {
				h.close()
				return nil
			}
		}
	}
}

func (h *Host) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/session", h.told(h.info))
	mux.HandleFunc("PUT /v1/steps/{step}/{attempt}", h.told(h.begin))
	mux.HandleFunc("GET /v1/steps/{step}/{attempt}", h.told(h.stateOf))
	mux.HandleFunc("GET /v1/steps/{step}/{attempt}/log", h.told(h.logOf))
	mux.HandleFunc("POST /v1/steps/{step}/{attempt}/cancel", h.told(h.cancel))
	mux.HandleFunc("PUT /v1/steps/{step}/{attempt}/credentials", h.told(h.lend))
	mux.HandleFunc("PUT /v1/files", h.told(h.putFiles))
	mux.HandleFunc("GET /v1/files", h.getFiles)
	mux.HandleFunc("POST /v1/close", h.told(h.closeNow))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != h.ID {
			answer(w, http.StatusNotFound, refusal{"this is another session"})
			return
		}
		h.mu.Lock()
		h.contact = time.Now()
		h.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// header names the session that a request is for.
const header = "Slipway-Session"

// no is a refusal with its status.
type no struct {
	status int
	text   string
}

func (n no) Error() string { return n.text }

func (h *Host) told(do func(*http.Request) (int, any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		status, v, err := do(r)
		var refused no
		switch {
		case errors.As(err, &refused):
			status, v = refused.status, refusal{refused.text}
		case err != nil:
			status, v = http.StatusInternalServerError, refusal{err.Error()}
		}
		answer(w, status, v)
	}
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who doesn't get it asks again
}

func (h *Host) info(*http.Request) (int, any, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := Info{ID: h.ID, Protocol: Protocol, Started: h.started, LastContact: h.contact, Steps: []Run{}}
	for _, r := range h.runs {
		out.Steps = append(out.Steps, Run{Step: r.Step, Attempt: r.Attempt, State: r.state})
	}
	return http.StatusOK, out, nil
}

// named reads which attempt a request is about.
func named(r *http.Request) (step string, attempt int, err error) {
	step = r.PathValue("step")
	attempt, err = strconv.Atoi(r.PathValue("attempt"))
	if err != nil || attempt < 0 || !plain(step) {
		return "", 0, no{http.StatusBadRequest, "no step can have this name or this attempt"}
	}
	return step, attempt, nil
}

// begin starts an attempt, or finds it.
func (h *Host) begin(req *http.Request) (int, any, error) {
	step, attempt, err := named(req)
	if err != nil {
		return 0, nil, err
	}
	var s Start
	if err := json.NewDecoder(io.LimitReader(req.Body, 16<<20)).Decode(&s); err != nil {
		return 0, nil, no{http.StatusBadRequest, "the start can't be read: " + err.Error()}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[attemptDir(step, attempt)]; r != nil {
		if err := r.fenced(s.Fence); err != nil {
			return 0, nil, err
		}
		if r.Digest != s.Digest {
			return 0, nil, no{http.StatusConflict, fmt.Sprintf("attempt %d was started with something else to run", attempt)}
		}
		return http.StatusOK, r.state, nil
	}
	for _, r := range h.runs {
		if r.Step == step && r.state.Phase != Ended {
			return 0, nil, no{http.StatusConflict, fmt.Sprintf("attempt %d of the step still runs", r.Attempt)}
		}
	}
	r := &run{begun: begun{step, attempt, s.Digest, s.Fence}, start: s, token: rand.Text(), changed: make(chan struct{})}
	r.state = State{Version: 1, Phase: Waiting}
	if r.journal, err = newJournal(filepath.Join(h.Control, "journal", attemptDir(step, attempt)), r.begun); err != nil {
		return 0, nil, err
	}
	h.runs[attemptDir(step, attempt)] = r
	if s.Seconds > 0 {
		r.timer = time.AfterFunc(time.Duration(s.Seconds)*time.Second, func() { h.stop(r, 0) })
	}
	if err := h.Spawn(step, attempt, r.token); err != nil {
		h.end(r, Exit{Code: 126, Reason: err.Error()})
	}
	return http.StatusCreated, r.state, nil
}

// fenced refuses a delegate that has lost its step to another. The caller holds
// the lock.
func (r *run) fenced(fence int64) error {
	if fence < r.Fence {
		return no{http.StatusPreconditionFailed, fmt.Sprintf("the fence %d is older than %d", fence, r.Fence)}
	}
	r.Fence = fence
	return nil
}

// find finds an attempt.
func (h *Host) find(req *http.Request) (*run, error) {
	step, attempt, err := named(req)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if r := h.runs[attemptDir(step, attempt)]; r != nil {
		return r, nil
	}
	return nil, no{http.StatusNotFound, "the attempt wasn't started here"}
}

// pause waits until a run changes, or as long as a request says.
func (h *Host) pause(req *http.Request, ready func() (bool, <-chan struct{})) {
	wait, err := time.ParseDuration(req.URL.Query().Get("wait"))
	if err != nil || wait <= 0 {
		return
	}
	timer := time.NewTimer(min(wait, 30*time.Second))
	defer timer.Stop()
	for {
		is, changed := ready()
		if is {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-req.Context().Done():
			return
		case <-h.done:
			return
		}
	}
}

func (h *Host) stateOf(req *http.Request) (int, any, error) {
	r, err := h.find(req)
	if err != nil {
		return 0, nil, err
	}
	after, _ := strconv.Atoi(req.URL.Query().Get("after")) // 0: as it is
	h.pause(req, func() (bool, <-chan struct{}) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return r.state.Version > after, r.changed
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	r.state.LogSize = r.journal.size
	return http.StatusOK, r.state, nil
}

func (h *Host) logOf(req *http.Request) (int, any, error) {
	r, err := h.find(req)
	if err != nil {
		return 0, nil, err
	}
	offset, err := strconv.ParseInt(req.URL.Query().Get("offset"), 10, 64)
	if err != nil || offset < 0 {
		return 0, nil, no{http.StatusBadRequest, "offset is no number of bytes"}
	}
	h.pause(req, func() (bool, <-chan struct{}) {
		h.mu.Lock()
		defer h.mu.Unlock()
		return r.journal.size > offset || r.state.Phase == Ended, r.changed
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	out, err := r.journal.read(offset)
	if err != nil {
		return 0, nil, err
	}
	out.Ended = r.state.Phase == Ended && out.Next >= r.journal.size
	return http.StatusOK, out, nil
}

func (h *Host) cancel(req *http.Request) (int, any, error) {
	r, err := h.find(req)
	if err != nil {
		return 0, nil, err
	}
	var s Stop
	if err := json.NewDecoder(req.Body).Decode(&s); err != nil {
		return 0, nil, no{http.StatusBadRequest, "how to cancel can't be read: " + err.Error()}
	}
	h.mu.Lock()
	err = r.fenced(s.Fence)
	h.mu.Unlock()
	if err != nil {
		return 0, nil, err
	}
	h.stop(r, s.Grace)
	h.mu.Lock()
	defer h.mu.Unlock()
	return http.StatusOK, r.state, nil
}

// stop ends an attempt's command, if it runs.
func (h *Host) stop(r *run, grace int) {
	h.mu.Lock()
	entry := r.entry
	if entry == nil && r.state.Phase == Waiting {
		h.end(r, Exit{Code: 143, Signal: 15, Reason: "it was cancelled before it began"})
	}
	h.mu.Unlock()
	if entry != nil {
		_ = entry.write(toEntry{Stop: &Stop{Grace: grace}}) // an entry that is gone has ended
	}
}

// change tells who waits that a run isn't what it was. The caller holds the lock.
func (r *run) change() {
	r.state.Version++
	close(r.changed)
	r.changed = make(chan struct{})
}

// end writes down how an attempt has ended. The caller holds the lock.
func (h *Host) end(r *run, e Exit) {
	if r.state.Phase == Ended {
		return
	}
	if r.timer != nil {
		r.timer.Stop()
	}
	h.lender.end(attemptDir(r.Step, r.Attempt))
	r.state.Phase, r.state.Exit, r.state.Ended = Ended, &e, time.Now().UTC()
	r.start = Start{}
	_ = r.journal.write("state.json", r.state) // the answer is from memory
	r.change()
}

// welcome takes in entries.
func (h *Host) welcome(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // the listener was closed with the session
		}
		go h.hear(conn)
	}
}

// hear does what an entry says until it has nothing more to say.
func (h *Host) hear(conn net.Conn) {
	defer conn.Close()
	entry := newLine[fromEntry, toEntry](conn)
	first, err := entry.read()
	if err != nil || first.Hello == nil {
		return
	}
	r, start := h.admit(*first.Hello, entry)
	if r == nil {
		return
	}
	if err := entry.write(toEntry{Start: &start}); err != nil {
		h.gone(r)
		return
	}
	for {
		said, err := entry.read()
		if err != nil {
			h.gone(r)
			return
		}
		h.mu.Lock()
		switch {
		case said.Started:
			r.state.Phase, r.state.Started = Running, time.Now().UTC()
			r.change()
		case said.Frame != nil:
			if err := r.journal.append(*said.Frame); err != nil {
				h.end(r, Exit{Code: 1, Reason: err.Error()})
			}
			r.change()
		case said.Ended != nil:
			h.end(r, *said.Ended)
			h.mu.Unlock()
			_ = entry.write(toEntry{Kept: true}) // an entry that is gone needn't know
			continue
		}
		h.mu.Unlock()
	}
}

// admit binds an attempt to the first entry that has its token.
func (h *Host) admit(who hello, entry *line[fromEntry, toEntry]) (*run, Start) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[attemptDir(who.Step, who.Attempt)]
	if r == nil || r.state.Phase == Ended || subtle.ConstantTimeCompare([]byte(r.token), []byte(who.Token)) != 1 {
		return nil, Start{}
	}
	if r.entry != nil {
		_ = r.journal.append(Frame{Stream: 2, Time: time.Now(), Bytes: []byte("Somebody else said to be this step, and was refused.\n")}) // it is only told
		r.change()
		return nil, Start{}
	}
	r.entry = entry
	start := r.start
	r.start = Start{}
	return r, start
}

// gone ends an attempt whose entry isn't there any more.
func (h *Host) gone(r *run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(r, Exit{Code: 137, Reason: "what ran the command is gone"})
}

func (h *Host) closeNow(*http.Request) (int, any, error) {
	h.close()
	return http.StatusOK, struct{}{}, nil
}

// close ends all commands, and then the host.
func (h *Host) close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	var open []*run
	for _, r := range h.runs {
		if r.state.Phase != Ended {
			open = append(open, r)
		}
	}
	h.mu.Unlock()
	for _, r := range open {
		h.stop(r, 0)
	}
	for _, r := range open {
		h.settled(r)
	}
	close(h.done)
}

// settled waits until an attempt has ended, at most a minute.
func (h *Host) settled(r *run) {
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		h.mu.Lock()
		ended, changed := r.state.Phase == Ended, r.changed
		h.mu.Unlock()
		if ended {
			return
		}
		select {
		case <-changed:
		case <-late.C:
			return
		}
	}
}

// clear removes what an earlier host has left of its sockets.
func clear(names ...string) error {
	for _, name := range names {
		if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove %s: %w", name, err)
		}
	}
	return nil
}
