package testaws

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// startLimit bounds how long a process may take until its first poll. Lambda
// allows ten seconds; a busy machine that runs tests needs more.
const startLimit = time.Minute

// instance is a process of a function, with the Runtime API that it speaks.
type instance struct {
	cmd    *exec.Cmd
	api    *httptest.Server
	work   chan invocation
	ended  chan struct{} // closed when the process is over
	first  chan struct{} // closed by the first poll
	polled sync.Once
	warm   func() // called at the first poll

	mu     sync.Mutex
	answer map[string]chan Result // by the invocation's ID
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
	i.cmd.Env = slices.Concat(surroundings(f.Name, strings.TrimPrefix(i.api.URL, "http://")), f.Env)
	i.cmd.Stdout, i.cmd.Stderr = h.tb.Output(), h.tb.Output()
	begun := time.Now()
	// Written down before the first poll is told of: who waits for that may ask.
	i.warm = func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		f.usage.ColdStarts = append(f.usage.ColdStarts, time.Since(begun))
	}
	wait, err := startTied(i.cmd)
	if err != nil {
		i.api.Close()
		return nil, fmt.Errorf("start function %s: %w", f.Name, err)
	}
	go func() {
		_ = wait() // whoever waits for an answer hears of it
		close(i.ended)
	}()
	return i, nil
}

// ready waits until the process asks for work.
func (i *instance) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	select {
	case <-i.first:
		return nil
	case <-i.ended:
		return errors.New("it didn't start")
	case <-ctx.Done():
		return fmt.Errorf("it hasn't asked for work within %s", startLimit)
	}
}

// run gives an invocation to the process and waits for its answer.
func (i *instance) run(ctx context.Context, payload []byte, deadline time.Time) (Result, error) {
	call := invocation{id: rand.Text(), payload: payload, deadline: deadline}
	answer := make(chan Result, 1)
	i.mu.Lock()
	i.answer[call.id] = answer
	i.mu.Unlock()
	select {
	case i.work <- call:
	case <-i.ended:
		return Result{}, errors.New("it ended before it took the event")
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	select {
	case r := <-answer:
		return r, nil
	case <-i.ended:
		return Result{}, errors.New("it ended before it answered")
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
}

func (i *instance) next(w http.ResponseWriter, r *http.Request, name string) {
	i.polled.Do(func() {
		i.warm()
		close(i.first)
	})
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

// surroundings are the environment variables that Lambda gives every function.
// https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
func surroundings(name, api string) []string {
	return []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "LANG=en_US.UTF-8", "TZ=:UTC", "_HANDLER=bootstrap",
		"AWS_REGION=" + Region, "AWS_DEFAULT_REGION=" + Region, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
		"AWS_EXECUTION_ENV=AWS_Lambda_provided.al2023", "AWS_LAMBDA_RUNTIME_API=" + api, "AWS_LAMBDA_INITIALIZATION_TYPE=on-demand",
		"AWS_LAMBDA_FUNCTION_NAME=" + name, "AWS_LAMBDA_FUNCTION_VERSION=$LATEST", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=512",
		"AWS_LAMBDA_LOG_GROUP_NAME=/aws/lambda/" + name, "AWS_LAMBDA_LOG_STREAM_NAME=test",
	}
}

// ColdStart starts an instance of a function, waits for its first poll, and
// ends it. It says how long that took.
func (h *Host) ColdStart(name string) (time.Duration, error) {
	h.mu.Lock()
	f := h.functions[name]
	h.mu.Unlock()
	if f == nil {
		return 0, fmt.Errorf("there is no function %q", name)
	}
	begun := time.Now()
	i, err := h.start(f)
	if err != nil {
		return 0, err
	}
	defer i.kill()
	select {
	case <-i.first:
		return time.Since(begun), nil
	case <-i.ended:
		return 0, fmt.Errorf("function %s ended before its first poll", name)
	}
}

// Renew ends the idle instances of a function, so that its next invocation is
// a cold start, as after a deployment.
func (h *Host) Renew(name string) {
	h.mu.Lock()
	var old []*instance
	if f := h.functions[name]; f != nil {
		old, f.idle = f.idle, nil
		f.all = slices.DeleteFunc(f.all, func(i *instance) bool { return slices.Contains(old, i) })
	}
	h.mu.Unlock()
	for _, i := range old {
		i.kill()
	}
}

// Kill ends an instance of a function that works on an invocation, if there is
// one. Lambda calls that Runtime.ExitError.
func (h *Host) Kill(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.functions[name]
	if f == nil {
		return false
	}
	for _, i := range f.all {
		if !slices.Contains(f.idle, i) {
			_ = i.cmd.Process.Kill() // who waits for its answer hears of it
			return true
		}
	}
	return false
}
