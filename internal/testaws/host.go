package testaws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
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
	// Concurrency is how many instances there may be; when all are busy, Lambda
	// refuses the invocation. 0: as many as are needed.
	Concurrency int
}

// Result is what an invocation gives.
type Result struct {
	Payload []byte
	// Error is the kind of a failure, as the header X-Amz-Function-Error has
	// it; empty for none. The payload then holds errorType and errorMessage.
	Error string
}

// Faults are what goes wrong on purpose, as parts of 1. An invocation that
// fails so has the error that Step Functions gives Lambda's own failures.
type Faults struct {
	Before float64 // invocations that fail before the function hears of them
	After  float64 // invocations whose effect happens and whose answer is lost
	Twice  bool    // every invocation is delivered twice
}

// Usage is what a function has used.
type Usage struct {
	Invocations int             // that reached an instance
	Time        time.Duration   // of all invocations, without the starts
	ColdStarts  []time.Duration // from a process's start to its first poll
	MaxRSS      int64           // bytes; the most of an instance that lived on
}

// Host runs functions: each instance is a process that takes one invocation
// at a time; there are as many as are needed at once.
type Host struct {
	URL string // POST /invoke/<name> invokes a function

	tb        testing.TB
	mu        sync.Mutex
	functions map[string]*function
	faults    map[string]Faults // by function
	rules     []Rule
	closed    bool
}

// Failure is a function's error with its type, as the state machine sees it.
type Failure struct{ Type, Message string }

// Error is the type and the message.
func (f *Failure) Error() string { return f.Type + ": " + f.Message }

// AddFunc deploys a function that is a part of the test rather than a program.
func (h *Host) AddFunc(name string, handle func(ctx context.Context, payload []byte) ([]byte, error)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.functions[name] = &function{Function: Function{Name: name}, handle: handle}
}

type function struct {
	Function
	handle func(context.Context, []byte) ([]byte, error) // nil for a program
	idle   []*instance
	all    []*instance
	usage  Usage
}

// NewHost makes a Host that ends with the test.
func NewHost(tb testing.TB) *Host {
	tb.Helper()
	h := &Host{tb: tb, functions: map[string]*function{}, faults: map[string]Faults{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /invoke/{name}", h.invoke)
	mux.HandleFunc("POST "+functions+"{name}/invocations", h.invokeAPI)
	mux.HandleFunc("POST /events", h.deliver)
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

// Fail makes things go wrong with a function from now on.
func (h *Host) Fail(function string, f Faults) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults[function] = f
}

// Usage tells what a function has used so far.
func (h *Host) Usage(name string) Usage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.functions[name].usage
}

// functions begins the path of Lambda's own API.
const functions = "/2015-03-31/functions/"

// invokeAPI is Lambda's Invoke, without its signature. What isn't the function's
// failure is an error of the API.
func (h *Host) invokeAPI(w http.ResponseWriter, r *http.Request) {
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := h.Invoke(context.WithoutCancel(r.Context()), r.PathValue("name"), payload)
	var told struct{ ErrorType, ErrorMessage string }
	if result.Error != "" {
		_ = json.Unmarshal(result.Payload, &told) // another's failure has no such type
	}
	own, isAPI := strings.CutPrefix(told.ErrorType, "Lambda.")
	switch {
	case err != nil:
		told.ErrorMessage, own, isAPI = err.Error(), "ResourceNotFoundException", true
		w.Header().Set("X-Amzn-Errortype", own)
		w.WriteHeader(http.StatusNotFound)
	case isAPI && own == "TooManyRequestsException":
		w.Header().Set("X-Amzn-Errortype", own)
		w.WriteHeader(http.StatusTooManyRequests)
	case isAPI:
		w.Header().Set("X-Amzn-Errortype", own)
		w.WriteHeader(http.StatusInternalServerError)
	case result.Error != "":
		w.Header().Set("X-Amz-Function-Error", result.Error)
	}
	if isAPI {
		_ = json.NewEncoder(w).Encode(map[string]string{"Type": "Service", "message": told.ErrorMessage})
		return
	}
	_, _ = w.Write(result.Payload) // the caller has gone; nobody is left to tell
}

// invoke is the same for Step Functions, which calls all failures alike.
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
	faults := h.faults[name]
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

// maxPayload is the most that an event or an answer may have, in bytes.
const maxPayload = 6 << 20

// once is one invocation. Lambda ends it by its timeout only: a caller that
// goes away doesn't.
func (h *Host) once(ctx context.Context, name string, payload []byte) (Result, error) {
	if len(payload) > maxPayload {
		return failure("Lambda.RequestTooLargeException", "the event is larger than 6 MB"), nil
	}
	if own := h.handler(name); own != nil {
		doc, err := own(ctx, payload)
		var f *Failure
		switch {
		case errors.As(err, &f):
			return failure(f.Type, f.Message), nil
		case err != nil:
			return failure("errorString", err.Error()), nil
		}
		return Result{Payload: doc}, nil
	}
	f, i, err := h.take(name)
	if err != nil {
		return Result{}, err
	}
	if i == nil {
		return failure("Lambda.TooManyRequestsException", "Rate Exceeded."), nil
	}
	ctx = context.WithoutCancel(ctx)
	err = i.ready(ctx)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	var result Result
	if err == nil {
		result, err = i.run(ctx, payload, begun.Add(f.Timeout))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		result = failure("Sandbox.Timedout", fmt.Sprintf("Error: Task timed out after %.2f seconds", f.Timeout.Seconds()))
	case err != nil:
		result = failure("Runtime.ExitError", "Error: Runtime exited: "+err.Error())
	case len(result.Payload) > maxPayload:
		result = failure("Function.ResponseSizeTooLarge", "Response payload size exceeded maximum allowed payload size (6291556 bytes).")
	}
	h.give(f, i, err == nil, Usage{Invocations: 1, Time: time.Since(begun), MaxRSS: i.rss()})
	return result, nil
}

// handler is a function that is a part of the test; nil for a program.
func (h *Host) handler(name string) func(context.Context, []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.functions[name]; f != nil {
		return f.handle
	}
	return nil
}

// take gives an idle instance of a function, or a new one; nil if all that
// there may be are busy.
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
	if f.Concurrency > 0 && len(f.all) == f.Concurrency {
		return f, nil, nil
	}
	i, err := h.start(f)
	if err != nil {
		return nil, nil, err
	}
	f.all = append(f.all, i)
	return f, i, nil
}

// give takes an instance back after an invocation, or ends it.
func (h *Host) give(f *function, i *instance, alive bool, used Usage) {
	if !alive {
		i.kill()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f.usage.Invocations += used.Invocations
	f.usage.Time += used.Time
	f.usage.MaxRSS = max(f.usage.MaxRSS, used.MaxRSS)
	if alive {
		f.idle = append(f.idle, i)
	} else {
		f.all = slices.DeleteFunc(f.all, func(other *instance) bool { return other == i })
	}
}
