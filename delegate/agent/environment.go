package agent

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

const (
	// flushEvery is how long people wait for a line at most.
	flushEvery = time.Second
	// lastFlush bounds how long a result waits for the rest of its log.
	lastFlush = time.Minute
)

// environment is what the agent gives one task's executor. A task that writes
// nothing, has no secrets and needs no directory costs next to nothing here.
type environment struct {
	agent  *Agent
	task   *running
	masker func() *redact.Masker
	secret atomic.Bool // there is something to hide
	dir    func() (string, error)
	clean  func() error
	tokens *tokens

	mu      sync.Mutex
	log     *logstream.Log // nil until its first use
	done    chan struct{}  // closed to end the flush loop
	flushed sync.WaitGroup // the flush loop
	lasting []func(ctx context.Context)
}

func newEnvironment(a *Agent, r *running) *environment {
	e := &environment{agent: a, task: r, done: make(chan struct{})}
	e.masker = sync.OnceValue(func() *redact.Masker { return redact.New() })
	e.dir, e.clean = a.scratch()
	for _, value := range r.Secrets {
		e.mask(value)
	}
	e.tokens = &tokens{fresh: e.freshToken, mask: e.mask}
	e.tokens.add(r.Tokens)
	return e
}

func (e *environment) env() executor.Env {
	return executor.Env{
		Writer: e.writer, Resolve: e.resolve, Files: e.files, Checkpoint: e.checkpoint, Checkpoints: e.checkpoints, Provision: e.provision, Provisions: e.provisions, Alone: e.alone, Errand: e.errand,
		Mask: e.mask, Hidden: e.hidden, Dir: e.dir, Linger: e.linger,
	}
}

func (e *environment) mask(values ...string) {
	if len(values) == 0 {
		return
	}
	e.secret.Store(true)
	e.masker().Add(values...)
}

// hidden says whether a text has something in it that is masked.
func (e *environment) hidden(text string) bool {
	return e.secret.Load() && e.masker().Text(text) != text
}

// writer opens the log of a command unit, and starts the log with the first.
func (e *environment) writer(unit string, level executor.Level) io.Writer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.log == nil {
		e.log = logstream.New(logstream.Config{Send: e.send, Masker: e.masker(), Now: time.Now})
		e.flushed.Go(e.flushLoop)
	}
	return e.log.Writer(unit, level)
}

// send stores chunks, also those of a task that is being stopped.
func (e *environment) send(_ context.Context, first int64, chunks [][]byte) error {
	batch := protocol.LogBatch{Fence: e.task.Fence, First: first, Chunks: chunks}
	return e.agent.api.post(context.WithoutCancel(e.task.ctx), e.agent.taskPath(e.task.ID, "logs"), batch, nil)
}

// flushLoop sends the log while the task runs.
func (e *environment) flushLoop() {
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for failures := 0; ; {
		select {
		case <-e.done:
			return
		case <-tick.C:
		case <-e.log.Full():
		}
		err := e.log.Flush(e.task.ctx)
		switch {
		case err == nil:
			failures = 0
		case fault.Is(err, fault.LeaseLost):
			e.task.cancel(executor.ErrLeaseLost)
			return
		case fault.Is(err, fault.TooLarge): // it will be so at each try; the task goes on
			return
		case within(e.done, backOff(failures)):
			return
		default:
			failures++
		}
	}
}

// close sends the rest of the log, so that it is there when the result is,
// and removes the scratch directory.
func (e *environment) close() {
	ctx, stop := context.WithTimeout(context.WithoutCancel(e.task.ctx), lastFlush)
	defer stop()
	if err := e.endLog(ctx); err != nil {
		e.agent.Log.WarnContext(ctx, "the end of a task's log is lost", "task", e.task.ID, "error", err)
	}
	if err := e.clean(); err != nil {
		e.agent.Log.WarnContext(ctx, "can't remove a scratch directory", "task", e.task.ID, "error", err)
	}
}

func (e *environment) endLog(ctx context.Context) error {
	e.mu.Lock()
	log := e.log
	e.mu.Unlock()
	close(e.done)
	if log == nil {
		return nil
	}
	e.flushed.Wait()
	for try := 0; ; try++ {
		err := log.Close(ctx)
		switch {
		case err == nil, errors.Is(context.Cause(e.task.ctx), executor.ErrLeaseLost):
			return nil
		case fault.Is(err, fault.LeaseLost):
			e.task.cancel(executor.ErrLeaseLost)
			return nil
		case fault.Is(err, fault.TooLarge): // it will be so at each try
			return err
		}
		if pause(ctx, backOff(try)) != nil {
			return err
		}
	}
}

// resolve has the control plane resolve texts. Secrets of the answer are
// masked before anybody can write them down.
func (e *environment) resolve(ctx context.Context, texts map[string]string) (map[string]string, error) {
	out, err := e.ask(ctx, texts)
	if err != nil {
		return nil, err
	}
	return e.opened(ctx, out)
}

// ask asks the control plane for what only it knows.
func (e *environment) ask(ctx context.Context, texts map[string]string) (protocol.Resolved, error) {
	var out protocol.Resolved
	in := protocol.Resolve{Fence: e.task.Fence, Texts: texts}
	return out, e.agent.api.post(ctx, e.agent.taskPath(e.task.ID, "resolve"), in, &out)
}

// opened are the texts of an answer with all that placeholders stand for.
func (e *environment) opened(ctx context.Context, out protocol.Resolved) (map[string]string, error) {
	for _, value := range out.Secrets {
		e.mask(value)
	}
	e.tokens.add(out.Tokens)
	secrets, err := e.withLate(ctx, out.Secrets, out.LateSecrets)
	if err != nil {
		return nil, err
	}
	if secrets, err = e.withTexts(ctx, secrets, out.LateTexts); err != nil || len(secrets) == 0 {
		return out.Texts, err
	}
	open := replacer(secrets)
	for name, text := range out.Texts {
		out.Texts[name] = open.Replace(text)
	}
	return out.Texts, nil
}

// errand asks about the applications that the task is about.
func (e *environment) errand(ctx context.Context, q errand.Ask) (errand.Answer, error) {
	q.Fence = e.task.Fence
	var out errand.Answer
	err := e.insist(ctx, "errand", q, &out)
	return out, err
}

// files asks for files of the file store, in as many answers as they need.
func (e *environment) files(ctx context.Context, path string) ([]task.StoredFile, error) {
	var all []task.StoredFile
	for in := (protocol.ReadFiles{Fence: e.task.Fence, Path: path}); ; {
		var out protocol.FilesRead
		if err := e.agent.api.post(ctx, e.agent.taskPath(e.task.ID, "files"), in, &out); err != nil {
			return nil, err
		}
		all = append(all, out.Files...)
		if in.After = out.Next; out.Next == "" {
			return all, nil
		}
	}
}

// hide masks what people will read of a result. Secret outputs stay: they are
// kept encrypted.
func (e *environment) hide(r task.Result) task.Result {
	if !e.secret.Load() {
		return r
	}
	mask := e.masker().Text
	r.Message, r.Changes = mask(r.Message), slices.Clone(r.Changes)
	for i := range r.Changes {
		r.Changes[i].Instances = masked(r.Changes[i].Instances, mask)
	}
	if len(r.Outputs) == 0 {
		return r
	}
	outputs, err := rewrite(r.Outputs, mask)
	if err != nil {
		return failed(err)
	}
	r.Outputs = outputs
	return r
}
