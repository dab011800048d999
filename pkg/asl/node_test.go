package asl_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/asl"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
	"github.com/slipway-cd/slipway/statemachines"
)

// start opens an engine over a database file with the node machine.
func start(tb testing.TB, file string, engine asl.Handler) (*asl.Engine, func()) {
	tb.Helper()
	m, err := asl.Parse("node", statemachines.Node, map[string]string{"EngineFunctionArn": "engine", "NodeMachineArn": "node"})
	if err != nil {
		tb.Fatal(err)
	}
	db, err := sqlitedb.Open(tb.Context(), file)
	if err != nil {
		tb.Fatal(err)
	}
	e, err := asl.Open(tb.Context(), asl.Config{
		DB: db, Machines: map[string]*asl.Machine{"node": m}, Functions: map[string]asl.Handler{"engine": engine}, Concurrency: 8, Trace: true,
	})
	if err != nil {
		tb.Fatal(err)
	}
	stop := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(e.Close(ctx), db.Close()); err != nil {
			tb.Error(err)
		}
	}
	return e, stop
}

// call is what the node machine sends.
type call struct {
	Op, Node, Token string
	Event           json.RawMessage
	After, At       struct {
		Node    string
		Attempt int
	}
}

// script plays the engine: a list of answers for each node's advances.
type script struct {
	mu      sync.Mutex
	answers map[string][]string
	calls   []string
	tokens  chan string
	done    chan string
}

func (s *script) handle(_ context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var c call
	if err := json.Unmarshal(payload, &c); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Op == "await" {
		s.calls = append(s.calls, fmt.Sprintf("await %s %d", c.At.Node, c.At.Attempt))
		s.tokens <- c.Token
		return json.RawMessage(`{}`), nil
	}
	s.calls = append(s.calls, fmt.Sprintf("%s %s after %q %s", c.Op, c.Node, c.After.Node, c.Event))
	list := s.answers[c.Node]
	if len(list) == 0 {
		return nil, errors.New("nothing more is scripted for " + c.Node)
	}
	s.answers[c.Node] = list[1:]
	if list[0] == `{"do":"done"}` {
		s.done <- c.Node
	}
	return json.RawMessage(list[0]), nil
}

func newScript(answers map[string][]string) *script {
	return &script{answers: answers, tokens: make(chan string, 100), done: make(chan string, 100)}
}

const input = `{"execution":"x1","node":"p","event":{},"next":{"value":{"at":{}}}}`

func await(node string, timeout, beat int) string {
	return fmt.Sprintf(`{"do":"await","at":{"node":%q,"attempt":1,"wait":""},"timeoutSeconds":%d,"heartbeatSeconds":%d}`, node, timeout, beat)
}

func TestWaitsFollowEachOther(t *testing.T) {
	t.Parallel()
	s := newScript(map[string][]string{"p": {await("a", 60, 30)}})
	e, stop := start(t, filepath.Join(t.TempDir(), "db"), s.handle)
	defer stop()
	for range 2 { // starting twice starts once
		if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(input)); err != nil {
			t.Fatal(err)
		}
	}
	token := <-s.tokens
	if err := e.SendTaskHeartbeat(t.Context(), token); err != nil {
		t.Error(err)
	}
	if err := e.SendTaskSuccess(t.Context(), token, json.RawMessage(await("b", 60, 30))); err != nil {
		t.Fatal(err)
	}
	if err := e.SendTaskFailure(t.Context(), <-s.tokens, "Slipway.Done", ""); err != nil {
		t.Fatal(err)
	}
	if err := e.SendTaskSuccess(t.Context(), token, json.RawMessage(`{}`)); !errors.Is(err, asl.ErrTaskTimedOut) {
		t.Errorf("answering twice gave %v", err)
	}
	want := []string{`advance p after "" {}`, "await a 1", "await b 1"}
	if diff := cmp.Diff(want, s.calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(`{"other":1}`)); !errors.Is(err, asl.ErrExecutionAlreadyExists) {
		t.Errorf("another input under the same name gave %v", err)
	}
	if x := ended(t, e, "x1-p"); x.Status != "SUCCEEDED" {
		t.Errorf("the run ended as %s: %s", x.Status, x.Cause)
	}
	if diff := cmp.Diff([]string{"Advance", "Decide", "Await", "Await", "Done"}, e.History("x1-p")); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

func TestChildrenRunInRunsOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := newScript(map[string][]string{
		"p": {`{"do":"children","at":{"node":"p"},"children":[{"node":"a","name":"x1-a"},{"node":"b","name":"x1-b"},{"node":"c","name":"x1-c"}],"maxConcurrency":2}`, `{"do":"done"}`},
		"a": {`{"do":"done"}`}, "b": {`{"do":"done"}`}, "c": {`{"do":"done"}`},
	})
	e, stop := start(t, filepath.Join(t.TempDir(), "db"), s.handle)
	defer stop()
	if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(input)); err != nil {
		t.Fatal(err)
	}
	var ended []string
	for range 4 {
		ended = append(ended, <-s.done)
	}
	if ended[3] != "p" {
		t.Errorf("ended in the order %v; the parent comes last", ended)
	}
	slices.Sort(ended)
	if diff := cmp.Diff([]string{"a", "b", "c", "p"}, ended); diff != "" {
		t.Errorf("ended (-want +got):\n%s", diff)
	}
}

func TestAWaitEndsByTimeAndByMissingHeartbeats(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"the time-out": await("a", 1, 100), "a missed heartbeat": await("a", 100, 1)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(map[string][]string{"p": {answer, `{"do":"done"}`}})
			e, stop := start(t, filepath.Join(t.TempDir(), "db"), s.handle)
			defer stop()
			if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(input)); err != nil {
				t.Fatal(err)
			}
			<-s.done
			if diff := cmp.Diff(`advance p after "a" {"Cause":"","Error":"States.Timeout"}`, s.calls[len(s.calls)-1]); diff != "" {
				t.Errorf("the last call (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARunGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "db")
	s := newScript(map[string][]string{"p": {
		`{"do":"children","at":{"node":"a"},"children":[{"node":"a","name":"x1-a"}],"maxConcurrency":0}`, `{"do":"done"}`,
	}, "a": {await("s", 600, 500)}})
	e, stop := start(t, file, s.handle)
	if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(input)); err != nil {
		t.Fatal(err)
	}
	old := <-s.tokens
	stop()
	e, stop = start(t, file, s.handle)
	defer stop()
	if err := e.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	token := <-s.tokens // the function is invoked again, with the token that it had
	if token != old {
		t.Errorf("the token changed from %s to %s", old, token)
	}
	if err := e.SendTaskFailure(t.Context(), token, "Slipway.Done", ""); err != nil {
		t.Fatal(err)
	}
	if node := <-s.done; node != "p" {
		t.Errorf("%s ended; want that the container is asked when its child has ended", node)
	}
}

func TestARefusedFunctionBreaksTheRun(t *testing.T) {
	t.Parallel()
	broke := make(chan string, 1)
	e, stop := start(t, filepath.Join(t.TempDir(), "db"), func(_ context.Context, payload json.RawMessage) (json.RawMessage, error) {
		var c call
		if err := json.Unmarshal(payload, &c); err != nil {
			return nil, err
		}
		if c.Op == "break" {
			broke <- string(c.Event)
			return json.RawMessage(`{}`), nil
		}
		return nil, &asl.Failure{Name: "Plan.Missing", Cause: "there is no plan"}
	})
	defer stop()
	if err := e.StartExecution(t.Context(), "node", "x1-p", json.RawMessage(input)); err != nil {
		t.Fatal(err)
	}
	if got := <-broke; got != `{"Cause":"there is no plan","Error":"Plan.Missing"}` {
		t.Errorf("break got %s", got)
	}
}

// BenchmarkTenSteps is a container with ten steps, each answered at once.
func BenchmarkTenSteps(b *testing.B) {
	var e *asl.Engine
	done := make(chan struct{}, 1)
	counts := map[string]int{}
	var mu sync.Mutex
	next := func(execution string) string {
		mu.Lock()
		defer mu.Unlock()
		if counts[execution]++; counts[execution] > 10 {
			return ""
		}
		return await("a", 600, 500)
	}
	e, stop := start(b, filepath.Join(b.TempDir(), "db"), func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
		var c struct{ Op, Execution, Token string }
		if err := json.Unmarshal(payload, &c); err != nil {
			return nil, err
		}
		after := next(c.Execution)
		switch {
		case c.Op != "await":
			return json.RawMessage(after), nil
		case after == "":
			defer func() { done <- struct{}{} }()
			return json.RawMessage(`{}`), e.SendTaskFailure(ctx, c.Token, "Slipway.Done", "")
		}
		return json.RawMessage(`{}`), e.SendTaskSuccess(ctx, c.Token, json.RawMessage(after))
	})
	defer stop()
	n := 0
	for b.Loop() {
		n++
		name := fmt.Sprintf("x%d", n)
		in := fmt.Sprintf(`{"execution":%q,"node":"p","event":{},"next":{"value":{"at":{}}}}`, name)
		if err := e.StartExecution(b.Context(), "node", name, json.RawMessage(in)); err != nil {
			b.Fatal(err)
		}
		<-done
	}
}
