// Package executortest gives executors what the agent would, for their tests:
// a recorded log, a scratch directory and a control plane that resolves what
// it is told to. It does no masking; that is the agent's and tested there.
package executortest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Env records what an executor does with its executor.Env.
type Env struct {
	executor.Env

	mu     sync.Mutex
	logs   map[string]*bytes.Buffer
	masked []string
	kept   []task.Checkpoint // the newest first

	lasting sync.WaitGroup

	// Execution is the one that the next tasks are of; it provisions, and so did
	// those before.
	Execution string
	provided  []provision.Done // the newest first
	done      int64            // how often one of them has done something
}

// New makes an Env whose Resolve answers with the texts changed by resolve;
// nil leaves them as they are.
func New(tb testing.TB, resolve func(text string) string) *Env {
	tb.Helper()
	e := &Env{logs: map[string]*bytes.Buffer{}}
	e.Env = executor.Env{
		Writer: func(unit string, level executor.Level) io.Writer { return writer{e, unit + "/" + string(level)} },
		Resolve: func(_ context.Context, texts map[string]string) (map[string]string, error) {
			out := make(map[string]string, len(texts))
			for name, text := range texts {
				if resolve != nil {
					text = resolve(text)
				}
				out[name] = text
			}
			return out, nil
		},
		Mask: func(values ...string) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.masked = append(e.masked, values...)
		},
		Hidden: func(text string) bool {
			return slices.ContainsFunc(e.Masked(), func(value string) bool { return value != "" && strings.Contains(text, value) })
		},
		Checkpoint: e.checkpoint, Checkpoints: func(context.Context) ([]task.Checkpoint, error) { return e.Kept(), nil },
		Provision: e.provision, Provisions: func(context.Context) (provision.Known, error) { return e.Provided(), nil },
		Alone: func(context.Context) (string, error) { return "", nil },
		Linger: func(last func(ctx context.Context)) {
			tb.Cleanup(e.lasting.Wait)
			e.lasting.Go(func() { last(tb.Context()) })
		},
		Dir: sync.OnceValues(func() (string, error) { return tb.TempDir(), nil }),
	}
	return e
}

// Copy makes an Env of New that has what this one keeps.
func (e *Env) Copy(tb testing.TB) *Env {
	tb.Helper()
	other := New(tb, nil)
	e.mu.Lock()
	defer e.mu.Unlock()
	other.masked, other.kept = slices.Clone(e.masked), slices.Clone(e.kept)
	other.Execution, other.provided, other.done = e.Execution, slices.Clone(e.provided), e.done
	return other
}

// checkpoint keeps the first checkpoint of a key, as a stage does.
func (e *Env) checkpoint(_ context.Context, key string, data any) (task.Checkpoint, error) {
	doc, err := json.Marshal(data)
	if err != nil {
		return task.Checkpoint{}, fmt.Errorf("encode the checkpoint %s: %w", key, err)
	}
	if len(doc) > task.MaxCheckpoint {
		return task.Checkpoint{}, fault.New(fault.TooLarge, "the checkpoint %s has %d bytes; the limit is %d", key, len(doc), task.MaxCheckpoint)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.kept {
		if c.Key == key {
			return c, nil
		}
	}
	c := task.Checkpoint{Key: key, Step: "n1", At: time.Unix(int64(len(e.kept)), 0), Data: doc}
	e.kept = append([]task.Checkpoint{c}, e.kept...)
	return c, nil
}

// provision keeps what an execution does, as the control plane does.
func (e *Env) provision(_ context.Context, status provision.Status, data any) (provision.Done, error) {
	doc, err := json.Marshal(data)
	if err != nil {
		return provision.Done{}, fmt.Errorf("encode what is %s: %w", status, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p := provision.Done{Execution: e.Execution, Step: "n1", Status: provision.Begun}
	at := slices.IndexFunc(e.provided, func(o provision.Done) bool { return o.Execution == e.Execution })
	if at >= 0 {
		p = e.provided[at]
	}
	switch {
	case status != provision.Begun:
		p.Status, p.Inputs = status, doc
	case at < 0:
		p.Before = doc
	default:
		return p, nil
	}
	if at >= 0 {
		e.provided = slices.Delete(e.provided, at, at+1)
	}
	e.done++
	p.At = time.Unix(e.done, 0)
	e.provided = append([]provision.Done{p}, e.provided...)
	return p, nil
}

// Provided are what the execution has done by its provisioner, and what the one
// before has.
func (e *Env) Provided() provision.Known {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out provision.Known
	for _, p := range e.provided {
		switch {
		case p.Execution == e.Execution:
			out.Own = &p
		case out.Earlier == nil && p.Status != provision.Begun:
			out.Earlier = &p
		}
	}
	return out
}

// Kept are the checkpoints, the newest first. An Env stands for a stage: a
// rollback that is given the same one gets what was kept before.
func (e *Env) Kept() []task.Checkpoint {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.kept)
}

type writer struct {
	env *Env
	key string
}

// Write records under the unit and level of the writer.
func (w writer) Write(p []byte) (int, error) {
	w.env.mu.Lock()
	defer w.env.mu.Unlock()
	b := w.env.logs[w.key]
	if b == nil {
		b = new(bytes.Buffer)
		w.env.logs[w.key] = b
	}
	return b.Write(p)
}

// At has f called before a line of a unit's log is written; 1 is the first one.
func (e *Env) At(unit string, line int, f func()) {
	written := new(atomic.Int64)
	e.intercept(unit, func(w io.Writer, _ executor.Level) writes {
		return func(p []byte) (int, error) {
			if written.Add(1) == int64(line) {
				f()
			}
			return w.Write(p)
		}
	})
}

// When has f called once, as soon as what was logged to a unit has a text.
func (e *Env) When(unit, text string, f func()) {
	once := new(sync.Once)
	e.intercept(unit, func(w io.Writer, level executor.Level) writes {
		return func(p []byte) (int, error) {
			n, err := w.Write(p)
			if strings.Contains(e.Text(unit, level), text) {
				once.Do(f)
			}
			return n, err
		}
	})
}

// intercept puts a writer before those of a unit's log.
func (e *Env) intercept(unit string, before func(io.Writer, executor.Level) writes) {
	open := e.Writer
	e.Writer = func(name string, level executor.Level) io.Writer {
		w := open(name, level)
		if name != unit {
			return w
		}
		return before(w, level)
	}
}

// writes is a writer.
type writes func(p []byte) (int, error)

func (f writes) Write(p []byte) (int, error) { return f(p) }

// Text is what was logged to a unit at a level.
func (e *Env) Text(unit string, level executor.Level) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if b := e.logs[unit+"/"+string(level)]; b != nil {
		return b.String()
	}
	return ""
}

// Units lists the command units that something was logged to, sorted.
func (e *Env) Units() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var units []string
	for key := range e.logs {
		units = append(units, key[:strings.LastIndexByte(key, '/')]) // a unit's name may have one, too
	}
	slices.Sort(units)
	return slices.Compact(units)
}

// Masked lists the values that the executor asked to mask.
func (e *Env) Masked() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.masked)
}

// Ending is a context whose end is always so far away: whoever waits until a little
// before it gives up, however long it took to come to the wait.
func Ending(ctx context.Context, in time.Duration) context.Context { return ending{ctx, in} }

type ending struct {
	context.Context //nolint:containedctx // it is one
	in              time.Duration
}

// Deadline is when the time seems to be up.
func (e ending) Deadline() (time.Time, bool) { return time.Now().Add(e.in), true }

// Assignment is a task of a kind with a payload.
func Assignment(tb testing.TB, kind task.Kind, payload any) task.Assignment {
	tb.Helper()
	doc, err := json.Marshal(payload)
	if err != nil {
		tb.Fatalf("encode the payload: %v", err)
	}
	return task.Assignment{ID: "t1", Fence: 1, Kind: kind, Payload: doc, Execution: "e1", Node: "n1", Attempt: 1}
}

// Work is a task that puts something somewhere, with a spec or a place of its
// kind; nil for none.
func Work(tb testing.TB, kind task.Kind, w task.Work, spec, place any) task.Assignment {
	tb.Helper()
	for value, doc := range map[*json.RawMessage]any{&w.Spec: spec, &w.Place: place} {
		if doc == nil {
			continue
		}
		var err error
		if *value, err = json.Marshal(doc); err != nil {
			tb.Fatalf("encode the work: %v", err)
		}
	}
	return Assignment(tb, kind, w)
}
