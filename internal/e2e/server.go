// Package e2e runs the whole of Slipway as its users do: documents in over
// HTTP, work done by a delegate, results compared with what is really there.
//
// It holds the harness; the scenarios are its tests. Nothing in it looks
// inside the control plane.
package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate"
	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// Patience is how long tests wait for what takes a second on a quiet machine:
// with all other tests beside it, it takes many.
const Patience = 5 * time.Minute

// Server is a running control plane and a client of it.
type Server struct {
	URL     string
	Token   string
	Org     string
	Project string
	// Poll is how often Until looks at first, then less often; 0: 3 ms.
	Poll time.Duration
	stop func() error
}

// Kinds are what the delegate in a control plane's process does, with so much
// memory for rendering; 0: as much as by default.
func Kinds(memory int64) func(cache string) map[task.Kind]executor.Kind {
	return func(cache string) map[task.Kind]executor.Kind {
		return WithoutTools(delegate.Kinds(delegate.Config{Cache: cache, RenderMemory: memory}))
	}
}

// WithoutTools are kinds whose delegate asks no program of its machine for its
// version, which takes longer than most tests do.
func WithoutTools(kinds map[task.Kind]executor.Kind) map[task.Kind]executor.Kind {
	for name, k := range kinds {
		if k.Sessions == nil {
			continue
		}
		own := *k.Sessions
		own.Tools = func(context.Context) []string { return nil }
		k.Sessions = &own
		kinds[name] = k
	}
	return kinds
}

// Start runs a control plane in this process, on a data folder of its own.
func Start(tb testing.TB, cfg wire.ServeConfig) *Server {
	tb.Helper()
	if cfg.Data == "" {
		cfg.Data = tb.TempDir()
	}
	cfg.Addr = "127.0.0.1:0"
	if cfg.Kinds == nil {
		cfg.Kinds = Kinds(0)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.NewTextHandler(tb.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	ready := make(chan wire.Info, 1)
	cfg.Ready = func(i wire.Info) { ready <- i }
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- wire.Serve(ctx, cfg) }()
	s := &Server{Org: "default", Project: "default_project"}
	s.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	select {
	case i := <-ready:
		s.URL, s.Token = i.URL, i.Token
	case err := <-ended:
		cancel()
		tb.Fatalf("serve: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.stop(); err != nil {
			tb.Errorf("stop: %v", err)
		}
	})
	return s
}

// Stop ends it, before the test does.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	if err := s.stop(); err != nil {
		tb.Fatalf("stop: %v", err)
	}
}

// Execution is what the tests read of an execution.
type Execution struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Message string `json:"message"`
	Parent  string `json:"parent"`
	Root    *Node  `json:"root"`
}

// Node is what the tests read of a node.
type Node struct {
	ID         string  `json:"id"`
	Identifier string  `json:"identifier"`
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	Status     string  `json:"status"`
	Message    string  `json:"message"`
	Attempt    int     `json:"attempt"`
	Child      string  `json:"child"` // the execution that a Pipeline stage has started
	Children   []*Node `json:"children"`
}

// Find is the node with an identifier below n.
func (n *Node) Find(identifier string) *Node {
	if n == nil || n.Identifier == identifier {
		return n
	}
	for _, c := range n.Children {
		if f := c.Find(identifier); f != nil {
			return f
		}
	}
	return nil
}

// Call sends a request and decodes the answer into out, unless it is nil. An
// answer of 400 or above is an error with its body.
func (s *Server) Call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	switch in := in.(type) {
	case nil:
	case string:
		body = []byte(in)
	default:
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	u := s.URL + path
	sep := "?"
	if strings.Contains(path, "?") {
		sep = "&"
	}
	u += sep + url.Values{"org": {s.Org}, "project": {s.Project}}.Encode()
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	if _, yaml := in.(string); yaml {
		req.Header.Set("Content-Type", "application/yaml")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// Apply saves documents, separated by lines of "---".
func (s *Server) Apply(tb testing.TB, documents string) {
	tb.Helper()
	for _, doc := range strings.Split(documents, "\n---\n") {
		if err := s.Call(tb.Context(), http.MethodPut, "/v1/entities", doc, nil); err != nil {
			tb.Fatal(err)
		}
	}
}

// Begin starts a pipeline.
func (s *Server) Begin(tb testing.TB, pipeline string, inputs map[string]string) string {
	tb.Helper()
	id, err := s.TryBegin(tb.Context(), pipeline, inputs)
	if err != nil {
		tb.Fatal(err)
	}
	return id
}

// TryBegin is Begin for many goroutines.
func (s *Server) TryBegin(ctx context.Context, pipeline string, inputs map[string]string) (string, error) {
	var e Execution
	err := s.Call(ctx, http.MethodPost, "/v1/pipelines/"+pipeline+"/executions", map[string]any{"inputs": inputs}, &e)
	return e.ID, err
}

// Get reads an execution.
func (s *Server) Get(ctx context.Context, id string) (Execution, error) {
	var e Execution
	err := s.Call(ctx, http.MethodGet, "/v1/executions/"+id, nil, &e)
	return e, err
}

// End waits for an execution's end without asking again and again, where the
// server can tell of it.
func (s *Server) End(ctx context.Context, id string) (Execution, error) {
	for {
		began := time.Now()
		var e Execution
		if err := s.Call(ctx, http.MethodGet, "/v1/executions/"+id+"?wait=60", nil, &e); err != nil || Ended(e) {
			return e, err
		}
		select {
		case <-ctx.Done():
			return e, fmt.Errorf("execution %s is %s (%s) when time is up: %w", id, e.Status, e.Message, ctx.Err())
		case <-time.After(100*time.Millisecond - time.Since(began)): // at once, if it has waited
		}
	}
}

// Until reads an execution until it is as wanted. It asks again and again,
// because what it waits for happens in another process: less often the longer
// it takes, or all that wait would keep the others from getting on.
func (s *Server) Until(ctx context.Context, id string, wanted func(Execution) bool) (Execution, error) {
	if s.Poll > 0 { // each look is a call of a function, which reads some rows
		return s.look(ctx, func(waited time.Duration) time.Duration { return min(max(waited/10, s.Poll), time.Second) }, id, wanted)
	}
	return s.look(ctx, func(waited time.Duration) time.Duration {
		return min(max(waited/20, 3*time.Millisecond), 100*time.Millisecond)
	}, id, wanted)
}

// Every is Until with another interval, for many executions at once.
func (s *Server) Every(ctx context.Context, interval time.Duration, id string, wanted func(Execution) bool) (Execution, error) {
	return s.look(ctx, func(time.Duration) time.Duration { return interval }, id, wanted)
}

func (s *Server) look(ctx context.Context, pause func(waited time.Duration) time.Duration, id string, wanted func(Execution) bool) (Execution, error) {
	began := time.Now()
	for {
		e, err := s.Get(ctx, id)
		if err == nil && wanted(e) {
			return e, nil
		}
		select {
		case <-ctx.Done():
			return e, fmt.Errorf("execution %s is %s (%s) when time is up: %w", id, e.Status, e.Message, cmp.Or(err, ctx.Err()))
		case <-time.After(pause(time.Since(began))):
		}
	}
}

// Ended says whether an execution has ended.
func Ended(e Execution) bool {
	switch e.Status {
	case "Success", "IgnoreFailed", "Failed", "Errored", "Expired", "ApprovalRejected", "AbortedByFreeze", "Aborted":
		return true
	}
	return false
}

// Run starts a pipeline and waits for its end.
func (s *Server) Run(tb testing.TB, pipeline string, inputs map[string]string) Execution {
	tb.Helper()
	id := s.Begin(tb, pipeline, inputs)
	ctx, cancel := context.WithTimeout(tb.Context(), Patience)
	defer cancel()
	e, err := s.Until(ctx, id, Ended)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}
