// Package sandbox does work that other people's files decide on, such as
// rendering their templates, in a child process of the same program: one with a
// memory limit and nearly no environment, which is killed when the task's time
// is up. A chart that takes all memory or never ends then fails its own step
// and nothing else.
//
// It knows nothing of charts and manifests: what can be asked for are verbs,
// which their packages have and package delegate lists. Nor does it keep the
// child from the disk or the network: what a verb may read is the verb's care.
//
//	parent                                   child
//	  start (or take the idle one)  -------->  limits itself, says "ready"
//	  "work": verb, request         -------->  does it
//	  writes it to the task's log   <--------  "log"
//	  looks it up                   <--------  "ask"
//	  "answer"                      -------->
//	  kills the child               <--------  "done": answer or error
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
)

const (
	// DefaultMemory is how much memory a child may take, in bytes.
	DefaultMemory = 512 << 20
	// LeastMemory is what a child needs to do anything at all.
	LeastMemory = 128 << 20
	// MaxAnswer bounds what one piece of work may give, in bytes of JSON.
	MaxAnswer = 16 << 20
	// maxLog bounds what one piece of work may write to the log, in bytes.
	maxLog = 1 << 20
	// maxAsked bounds the questions of one piece of work.
	maxAsked = 1000
	// idle is how long a child is kept for the next piece of work.
	idle = time.Minute
)

// Work is what a child is to do.
type Work struct {
	Verb    string
	What    string // for messages, such as "rendering chart web"
	Request any    // becomes JSON
	Log     io.Writer
	// Asked answers what the child asks; nil: it may ask nothing.
	Asked func(ctx context.Context, name string, question json.RawMessage) (any, error)
}

// Sandbox starts children. It keeps an idle one ready after its first work, so
// that the next needn't wait for a start. A child never does a second piece of
// work: nothing of one gets into another. It is for many goroutines.
type Sandbox struct {
	memory int64

	mu    sync.Mutex
	spare *child
	tired *time.Timer // ends the spare
}

// New makes a Sandbox whose children may take some bytes of memory; 0:
// DefaultMemory.
func New(memory int64) *Sandbox {
	if memory == 0 {
		memory = DefaultMemory
	}
	return &Sandbox{memory: memory}
}

// Run does work in a child and decodes its answer. An error of the work has
// the code that it had there; too much memory and too large an answer are
// fault.TooLarge. If ctx ends, the child is killed and the error is the
// context's cause.
func (s *Sandbox) Run(ctx context.Context, w Work, answer any) error {
	request, err := encode(w.Request)
	if err != nil {
		return fmt.Errorf("%s: encode the request: %w", w.What, err)
	}
	c, err := s.open(ctx)
	if err != nil {
		return s.explained(ctx, w, c, err)
	}
	defer s.prepare()
	defer c.end()
	defer context.AfterFunc(ctx, c.kill)()
	doc, err := c.do(ctx, w, request)
	if err != nil {
		return s.explained(ctx, w, c, err)
	}
	if err := json.Unmarshal(doc, answer); err != nil {
		return fmt.Errorf("%s: decode the answer: %w", w.What, err)
	}
	return nil
}

// explained says why a child gave no answer; c is nil if there is none.
func (s *Sandbox) explained(ctx context.Context, w Work, c *child, err error) error {
	var told *failure
	if errors.As(err, &told) {
		return told.restored()
	}
	how, said := otherwise, ""
	if c != nil {
		how, said = c.end(), c.said.text()
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s took more than the task's time: %w", w.What, context.Cause(ctx))
	case errors.Is(err, errTooMuch):
		return fault.New(fault.TooLarge, "%s: %w", w.What, err).Causing(fault.ResourceLimitsFailure)
	case how == outOfMemory:
		return fault.New(fault.TooLarge, "%s took more than %d MiB of memory", w.What, s.memory>>20).Causing(fault.ResourceLimitsFailure)
	case how == tooDeep:
		return fault.New(fault.TooLarge, "%s calls itself too often", w.What).Causing(fault.ResourceLimitsFailure)
	case how == killed:
		return fault.New(fault.Unavailable, "the process for %s was killed; the machine may lack memory", w.What).Causing(fault.ResourceLimitsFailure)
	}
	return fmt.Errorf("%s: the process for it: %w: %s", w.What, err, strings.TrimSpace(said[:min(len(said), 200)]))
}

// open gives a child that is ready for work: the spare one, if it still lives,
// or a new one.
func (s *Sandbox) open(ctx context.Context) (*child, error) {
	if c := s.take(); c != nil {
		if c.greet(ctx) == nil {
			return c, nil
		}
		c.end()
	}
	c, err := start(s.memory)
	if err != nil {
		return nil, err
	}
	return c, c.greet(ctx)
}

// take gives the spare child; nil if there is none.
func (s *Sandbox) take() *child {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.spare
	if c != nil {
		s.spare = nil
		s.tired.Stop()
	}
	return c
}

// prepare starts a child for the next work, unless there is one.
func (s *Sandbox) prepare() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spare != nil {
		return
	}
	c, err := start(s.memory)
	if err != nil {
		return // the next work tries again, and says what is wrong
	}
	s.spare = c
	s.tired = time.AfterFunc(idle, func() { s.dismiss(c) })
}

// dismiss ends a spare child that nobody has needed.
func (s *Sandbox) dismiss(c *child) {
	s.mu.Lock()
	mine := s.spare == c
	if mine {
		s.spare = nil
	}
	s.mu.Unlock()
	if mine {
		c.end()
	}
}

// Close ends the idle child.
func (s *Sandbox) Close() {
	s.mu.Lock()
	c := s.spare
	s.mu.Unlock()
	if c != nil {
		s.dismiss(c)
	}
}

// inChild says whether this process is a child itself. One that was started
// and doesn't answer would else start others for ever.
func inChild() bool { return os.Getenv(marker) != "" }
