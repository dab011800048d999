package asl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/share"
	"github.com/slipway-cd/slipway/pkg/sqlitedb"
)

// Handler answers a lambda:invoke. An error of type *Failure keeps its name;
// any other has the name Lambda.Unknown.
type Handler func(ctx context.Context, payload json.RawMessage) (json.RawMessage, error)

// Errors of tokens and runs, as Step Functions has them.
var (
	ErrTaskTimedOut           = errors.New("TaskTimedOut: the wait of this token has ended")
	ErrTaskDoesNotExist       = errors.New("TaskDoesNotExist: no wait has this token")
	ErrExecutionAlreadyExists = errors.New("ExecutionAlreadyExists: a run of this name has another input")
	ErrExecutionDoesNotExist  = errors.New("ExecutionDoesNotExist: there is no run of this name")
	ErrInvalidOutput          = errors.New("InvalidOutput: the output of a task can't be taken")
	ErrInvalidExecutionInput  = errors.New("InvalidExecutionInput: the input of a run can't be taken")
	ErrStateMachineUnknown    = errors.New("StateMachineDoesNotExist: there is no machine of this name")
	errClosed                 = errors.New("the engine is closed")
)

// Config is what an Engine needs.
type Config struct {
	DB        *sqlitedb.DB
	Machines  map[string]*Machine
	Functions map[string]Handler
	Now       func() time.Time
	Log       *slog.Logger
	// Concurrency bounds how many handlers run at once.
	Concurrency int
	// Whose says by a run's name in whose share of them its calls are: one has
	// three of four at most, and those who wait take turns. nil: all are one's.
	Whose func(run string) string
	// CallTimeout is how long one call of a handler may take, as Lambda has
	// it: 15 minutes if it isn't set.
	CallTimeout time.Duration
	// Retention is how long ended runs and their names are kept: 90 days, as
	// on AWS, if it isn't set.
	Retention time.Duration
	// Trace keeps the states that each run passes, for tests.
	Trace bool
}

// Engine runs machines.
type Engine struct {
	Config
	mu       sync.Mutex // guards runs, their threads, ended, starting and closed
	runs     map[string]*run
	ended    map[string]*run          // until their end is committed
	starting map[string]chan struct{} // names that are looked for on disk; closed afterwards
	open     *change                  // what is being edited
	older    map[string]*Machine      // definitions of runs that began before this program, by their hash
	closed   bool
	slots    *share.Places // of handlers
	work     sync.WaitGroup
	ctx      context.Context //nolint:containedctx // ends with Close; handlers outlive the call that caused them
	cancel   context.CancelFunc
	closing  chan struct{}
	once     sync.Once // closes closing
	paths    map[string][]string
	failed   chan error // holds the commit that failed
}

// Failed gives the error of a commit that failed, after which nothing runs
// any more: whoever opened the engine must open it again.
func (e *Engine) Failed() <-chan error { return e.failed }

// Open makes an engine. Runs that were under way go on when Resume is called,
// so that what the functions need can be put together in between.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{
		Config: cfg, runs: map[string]*run{}, ended: map[string]*run{}, starting: map[string]chan struct{}{}, older: map[string]*Machine{},
		slots: share.New(max(cfg.Concurrency, 1), cfg.shareOfOne(), 0), paths: map[string][]string{}, failed: make(chan error, 1), closing: make(chan struct{}),
	}
	if e.Now == nil {
		e.Now = time.Now
	}
	if e.CallTimeout <= 0 {
		e.CallTimeout = maxCall
	}
	if e.Retention <= 0 {
		e.Retention = Retention
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := cfg.DB.Migrate(ctx, "asl", migrations()); err != nil {
		return nil, err
	}
	if err := e.keepDefinitions(ctx); err != nil {
		return nil, err
	}
	e.work.Add(1)
	go e.keep()
	return e, nil
}

// shareOfOne is how many handlers run at once of one's runs.
func (c Config) shareOfOne() int {
	if c.Whose == nil {
		return max(c.Concurrency, 1)
	}
	return max(c.Concurrency*3/4, 1)
}

// maxCall is the longest time that Lambda gives a function.
const maxCall = 15 * time.Minute

// now is the time as it is kept: to the millisecond.
func (e *Engine) now() time.Time { return e.Now().UTC().Truncate(time.Millisecond) }

// hang is how long Close waits for handlers whose context it has ended.
const hang = 5 * time.Second

// Close takes no new work and waits for handlers that run. What they would
// have done next is done after the next Open: every state is committed.
// Handlers that don't end when ctx does are cancelled, and left behind if they
// don't heed that either.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	for _, r := range e.runs {
		r.stopTimers()
	}
	e.mu.Unlock()
	e.once.Do(func() { close(e.closing) })
	defer e.cancel()
	done := make(chan struct{})
	go func() {
		e.work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	e.cancel()
	select {
	case <-done:
		return nil
	case <-time.After(hang):
		return errors.New("a function goes on although the engine is closed")
	}
}

// SendTaskSuccess answers a wait.
func (e *Engine) SendTaskSuccess(ctx context.Context, token string, output json.RawMessage) error {
	result, err := decode(output)
	if err != nil {
		return fmt.Errorf("%w: the output isn't JSON: %w", ErrInvalidOutput, err)
	}
	if len(output) > maxData {
		return fmt.Errorf("%w: the output has %d bytes, more than %d", ErrInvalidOutput, len(output), maxData)
	}
	return e.answer(ctx, token, func(t *thread) { t.complete(result) })
}

// SendTaskFailure ends a wait with an error. Its name and cause may be missing.
func (e *Engine) SendTaskFailure(ctx context.Context, token, name, cause string) error {
	return e.answer(ctx, token, func(t *thread) { t.recover(&Failure{Name: name, Cause: cause, sent: true}) })
}

// SendTaskHeartbeat keeps a wait alive. Heartbeats are kept in memory only:
// after a restart every wait has its whole heartbeat time again.
func (e *Engine) SendTaskHeartbeat(_ context.Context, token string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	t, err := e.waiting(token)
	if err == nil {
		t.lastBeat = time.Now()
	}
	return err
}

// answer changes a thread whose wait has the token.
func (e *Engine) answer(ctx context.Context, token string, do func(*thread)) error {
	return e.change(ctx, func() (*change, error) {
		t, err := e.waiting(token)
		if err != nil {
			return nil, err
		}
		c := t.run.changed()
		do(t)
		return c, nil
	})
}

// waiting finds the thread whose wait has the token.
func (e *Engine) waiting(token string) (*thread, error) {
	t, wellFormed := e.find(token)
	switch {
	case !wellFormed:
		return nil, ErrTaskDoesNotExist
	case t == nil || t.wait != waitToken:
		return nil, ErrTaskTimedOut
	}
	return t, nil
}

// StopExecution ends a run as aborted, and the runs that it started.
func (e *Engine) StopExecution(ctx context.Context, name, errorName, cause string) error {
	return e.change(ctx, func() (*change, error) {
		r := e.runs[name]
		if r == nil {
			return nil, nil
		}
		c := r.changed()
		r.stop(&Failure{Name: errorName, Cause: cause})
		return c, nil
	})
}

// Execution is what DescribeExecution tells of a run.
type Execution struct {
	Name    string
	Machine string
	Status  string // RUNNING, SUCCEEDED, FAILED or ABORTED
	Input   json.RawMessage
	Output  json.RawMessage
	Error   string
	Cause   string
}

// History is the states that a run has passed, in the order of time, if the
// engine was opened with Trace.
func (e *Engine) History(name string) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.paths[name]...)
}
