package testaws

import (
	"context"
	secure "crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Function is what Lambda knows of a function.
type Function struct {
	Name    string
	Binary  string   // the bootstrap file
	Env     []string // its own environment variables
	Timeout time.Duration
}

// Result is what an invocation gives.
type Result struct {
	Payload []byte
	// Error is the kind of a failure, as the header X-Amz-Function-Error has
	// it; empty for none. The payload then holds errorType and errorMessage.
	Error string
}

// Faults are what goes wrong on purpose, as parts of 1.
type Faults struct {
	Before float64 // invocations that fail before the function hears of them
	After  float64 // invocations whose effect happens and whose answer is lost
	Twice  bool    // every invocation is delivered twice
}

// Usage is what a function has used.
type Usage struct {
	Invocations int
	Time        time.Duration // of all invocations
	ColdStarts  []time.Duration
	MaxRSS      int64 // bytes
}

// Host runs functions: each instance is a process that takes one invocation
// at a time; there are as many as are needed at once.
type Host struct {
	URL string // POST /invoke/<name> invokes a function

	tb        testing.TB
	mu        sync.Mutex
	functions map[string]*function
	faults    Faults
	closed    bool
}

type function struct {
	Function
	idle  []*instance
	all   []*instance
	usage Usage
}

// NewHost makes a Host that ends with the test.
func NewHost(tb testing.TB) *Host {
	tb.Helper()
	h := &Host{tb: tb, functions: map[string]*function{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /invoke/{name}", h.invoke)
	server := httptest.NewServer(mux)
	h.URL = server.URL
	tb.Cleanup(func() {
		h.mu.Lock()
		h.closed = true
		var all []*instance
		for _, f := range h.functions {
			all = append(all, f.all...)
		}
		h.mu.Unlock()
		for _, i := range all {
			i.kill()
		}
		server.Close()
	})
	return h
}

// Add deploys a function.
func (h *Host) Add(f Function) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.functions[f.Name] = &function{Function: f}
}

// Fail makes things go wrong from now on.
func (h *Host) Fail(f Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = f
}

// Usage tells what a function has used so far.
func (h *Host) Usage(name string) Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.functions[name].usage
}

// invoke is Lambda's Invoke, without its signature.
func (h *Host) invoke(w http.ResponseWriter, r *http.Request) {
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := h.Invoke(context.WithoutCancel(r.Context()), r.PathValue("name"), payload)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if result.Error != "" {
		w.Header().Set("X-Amz-Function-Error", result.Error)
	}
	_, _ = w.Write(result.Payload) // the caller has gone; nobody is left to tell
}

// Invoke gives a payload to a function, with the faults that are wanted.
func (h *Host) Invoke(ctx context.Context, name string, payload []byte) (Result, error) {
	h.mu.Lock()
	faults := h.faults
	h.mu.Unlock()
	if rand.Float64() < faults.Before { //nolint:gosec // a die is enough
		return failure("Lambda.ServiceException", "the function wasn't reached"), nil
	}
	if faults.Twice {
		if _, err := h.once(ctx, name, payload); err != nil {
			return Result{}, err
		}
	}
	result, err := h.once(ctx, name, payload)
	if err == nil && rand.Float64() < faults.After { //nolint:gosec // as above
		return failure("Lambda.ServiceException", "the answer was lost"), nil
	}
	return result, err
}

func failure(kind, message string) Result {
	doc, err := json.Marshal(map[string]string{"errorType": kind, "errorMessage": message})
	if err != nil { // strings always encode
		return Result{Error: "Unhandled"}
	}
	return Result{Payload: doc, Error: "Unhandled"}
}

// once is one invocation.
func (h *Host) once(ctx context.Context, name string, payload []byte) (Result, error) {
	f, i, err := h.take(name)
	if err != nil {
		return Result{}, err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	result, err := i.run(ctx, payload, f.Timeout)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		i.kill()
		result = failure("Sandbox.Timedout", fmt.Sprintf("Task timed out after %s", f.Timeout))
	case err != nil:
		i.kill()
		result = failure("Runtime.ExitError", err.Error())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.usage.Invocations++
	f.usage.Time += time.Since(begun)
	f.usage.MaxRSS = max(f.usage.MaxRSS, i.rss())
	if err == nil {
		f.idle = append(f.idle, i)
	}
	return result, nil
}

// take gives an idle instance of a function, or a new one.
func (h *Host) take(name string) (*function, *instance, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.functions[name]
	if f == nil || h.closed {
		return nil, nil, fmt.Errorf("there is no function %q", name)
	}
	if n := len(f.idle); n > 0 {
		i := f.idle[n-1]
		f.idle = f.idle[:n-1]
		return f, i, nil
	}
	i, err := h.start(f)
	if err == nil {
		f.all = append(f.all, i)
	}
	return f, i, err
}

// instance is a process of a function, with the Runtime API that it speaks.
type instance struct {
	cmd    *exec.Cmd
	api    *httptest.Server
	work   chan invocation
	ended  chan struct{} // the process is over
	mu     sync.Mutex
	answer map[string]chan Result
	first  chan struct{} // closed by the first poll
	once   sync.Once
}

type invocation struct {
	id       string
	payload  []byte
	deadline time.Time
}

func (h *Host) start(f *function) (*instance, error) {
	i := &instance{
		work: make(chan invocation), ended: make(chan struct{}), answer: map[string]chan Result{}, first: make(chan struct{}),
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) { i.next(w, r, f.Name) })
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) { i.reply(w, r, "") })
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) { i.reply(w, r, "Unhandled") })
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // for the log only
		h.tb.Logf("function %s didn't start: %s", f.Name, body)
		w.WriteHeader(http.StatusAccepted)
	})
	i.api = httptest.NewServer(mux)
	i.cmd = exec.Command(f.Binary)
	i.cmd.Env = append([]string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TZ=:UTC", "_HANDLER=bootstrap", "AWS_REGION=" + Region, "AWS_DEFAULT_REGION=" + Region,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(i.api.URL, "http://"),
		"AWS_LAMBDA_FUNCTION_NAME=" + f.Name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
	}, f.Env...)
	i.cmd.Stdout, i.cmd.Stderr = h.tb.Output(), h.tb.Output()
	begun := time.Now()
	wait, err := startTied(i.cmd)
	if err != nil {
		i.api.Close()
		return nil, fmt.Errorf("start function %s: %w", f.Name, err)
	}
	go func() {
		_ = wait() // whoever waits for an answer hears of it
		close(i.ended)
	}()
	go func() {
		select {
		case <-i.first:
			h.mu.Lock()
			f.usage.ColdStarts = append(f.usage.ColdStarts, time.Since(begun))
			h.mu.Unlock()
		case <-i.ended:
		}
	}()
	return i, nil
}

// run gives an invocation to the process and waits for its answer.
func (i *instance) run(ctx context.Context, payload []byte, timeout time.Duration) (Result, error) {
	call := invocation{id: secure.Text(), payload: payload, deadline: time.Now().Add(timeout)}
	answer := make(chan Result, 1)
	i.mu.Lock()
	i.answer[call.id] = answer
	i.mu.Unlock()
	select {
	case i.work <- call:
	case <-i.ended:
		return Result{}, errors.New("the process ended before it took the event")
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	select {
	case r := <-answer:
		return r, nil
	case <-i.ended:
		return Result{}, errors.New("the process ended before it answered")
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

func (i *instance) next(w http.ResponseWriter, r *http.Request, name string) {
	i.once.Do(func() { close(i.first) })
	select {
	case call := <-i.work:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", call.id)
		h.Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(call.deadline.UnixMilli()))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", FunctionARN(name))
		h.Set("Lambda-Runtime-Trace-Id", "Root=1-00000000-000000000000000000000000")
		_, _ = w.Write(call.payload) // the process has ended; run hears of it
	case <-r.Context().Done():
	case <-i.ended:
	}
}

func (i *instance) reply(w http.ResponseWriter, r *http.Request, kind string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	answer := i.answer[r.PathValue("id")]
	delete(i.answer, r.PathValue("id"))
	i.mu.Unlock()
	if answer == nil {
		http.Error(w, "no such invocation", http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusAccepted)
	answer <- Result{Payload: body, Error: kind}
}

func (i *instance) kill() {
	_ = i.cmd.Process.Kill() // it may have ended
	<-i.ended
	i.api.CloseClientConnections()
	i.api.Close()
}

// rss is the most memory that the process has had, in bytes; 0 if it has ended.
func (i *instance) rss() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			var kilobytes int64
			if _, err := fmt.Sscan(rest, &kilobytes); err == nil {
				return kilobytes << 10
			}
		}
	}
	return 0
}
