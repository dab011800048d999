package logstream

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/slipway-cd/slipway/pkg/redact"
)

// The sizes of a log, in bytes of encoded lines (semantics/pipeline §7.4).
const (
	// ChunkSize is what a chunk has at most, unless one line alone is larger.
	ChunkSize = 64 << 10
	// Limit is what the log of one attempt of a step has at most, but for the
	// remarks that say so.
	Limit = 25 << 20
	// Tail is the part of Limit that is kept for the end of the log.
	Tail = 10 << 10
	// MaxKept is what the control plane keeps of the log of one attempt: more than
	// any log that is cut at Limit has, although what comes again counts again.
	MaxKept = 4 * Limit
	// MaxBatch is how many chunks go together: 4 MiB.
	MaxBatch = 64
	// MaxChunk is what a chunk of one line has at most: the longest line, each
	// byte of it escaped, and its unit.
	MaxChunk = 256 << 10
	// MaxChunks is how many chunks the log of one attempt has at most.
	MaxChunks = 1 << 20
)

// Config is what a Log needs.
type Config struct {
	// Send stores chunks under the numbers from first on, or says why not; the
	// same chunks are then given again by the next Flush. It mustn't keep the
	// slice of chunks. It is called by one goroutine at a time.
	Send func(ctx context.Context, first int64, chunks [][]byte) error
	// Masker hides values before anything else is done with them; nil: none.
	Masker *redact.Masker
	Now    func() time.Time
}

// Log takes what the command units of a step write and sends it as numbered
// chunks. It starts nothing by itself: the caller flushes by its ticker, and
// whenever Full says so. It is for many goroutines.
type Log struct {
	cfg     Config
	full    chan struct{}
	sending sync.Mutex // one Flush at a time

	mu      sync.Mutex // of what follows
	writers map[source]*writer
	order   []*writer // in the order of their first use
	chunk   []byte    // under way
	ready   [][]byte  // complete; their bytes never change, for a chunk may be sent twice
	next    int64     // number of the first one of ready
	size    int       // of what was taken so far
	cut     bool      // size has reached Limit
	tail    tail
	closed  bool
}

// New makes an empty log.
func New(cfg Config) *Log {
	return &Log{cfg: cfg, full: make(chan struct{}, 1), writers: map[source]*writer{}}
}

// source is where a line comes from.
type source struct {
	unit  string
	level Level
}

// Writer gives the writer of a command unit at a level; it is the same one for
// the same unit and level. A line goes on over several writes. What is
// written after Close is dropped.
func (l *Log) Writer(unit string, level Level) io.Writer {
	l.mu.Lock()
	defer l.mu.Unlock()
	from := source{unit, level}
	w, ok := l.writers[from]
	if !ok {
		w = newWriter(l, from)
		l.writers[from] = w
		l.order = append(l.order, w)
	}
	return w
}

// Full gets a value when there is a whole chunk to send.
func (l *Log) Full() <-chan struct{} { return l.full }

// Flush sends every line that has ended. After an error it may be called
// again: nothing is lost or doubled.
func (l *Log) Flush(ctx context.Context) error {
	l.sending.Lock()
	defer l.sending.Unlock()
	l.mu.Lock()
	l.endChunk()
	l.mu.Unlock()
	for {
		first, chunks := l.unsent()
		if len(chunks) == 0 {
			return nil
		}
		if err := l.cfg.Send(ctx, first, chunks); err != nil {
			return fmt.Errorf("send log chunks %d to %d: %w", first, first+int64(len(chunks))-1, err)
		}
		l.mu.Lock()
		clear(chunks) // they are the beginning of ready
		l.ready = l.ready[len(chunks):]
		l.next += int64(len(chunks))
		l.mu.Unlock()
	}
}

func (l *Log) unsent() (first int64, chunks [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next, l.ready[:min(len(l.ready), MaxBatch)]
}

// Close ends every line, keeps the tail of a log that was cut, and sends all.
// After an error it may be called again.
func (l *Log) Close(ctx context.Context) error {
	if err := l.finish(); err != nil {
		return err
	}
	return l.Flush(ctx)
}

func (l *Log) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	for _, w := range l.order {
		if err := w.finish(); err != nil {
			return err
		}
	}
	l.closed = true
	if l.tail.missing > 0 {
		if err := l.say(l.tail.from, "... %d lines are left out here ...", l.tail.missing); err != nil {
			return err
		}
	}
	for _, doc := range l.tail.lines {
		l.put(doc)
	}
	l.tail = tail{}
	return nil
}

// take adds a line that has ended. The caller holds mu.
func (l *Log) take(from source, text string) error {
	doc, err := l.encode(from, text)
	if err != nil {
		return err
	}
	if !l.cut && l.size+len(doc) > Limit-Tail {
		l.cut = true
		if err := l.say(from, "... the log is over %d MB: what follows is left out, but for the last %d KB ...", Limit>>20, Tail>>10); err != nil {
			return err
		}
	}
	if l.cut {
		l.tail.add(from, doc)
		return nil
	}
	l.size += len(doc)
	l.put(doc)
	return nil
}

// say adds a remark of the log's own.
func (l *Log) say(from source, format string, args ...any) error {
	doc, err := l.encode(source{from.unit, Error}, fmt.Sprintf(format, args...))
	if err == nil {
		l.put(doc)
	}
	return err
}

func (l *Log) encode(from source, text string) ([]byte, error) {
	return Encode(Line{Time: l.cfg.Now().UnixMilli(), Unit: from.unit, Level: from.level, Text: text})
}

func (l *Log) put(doc []byte) {
	if len(l.chunk)+len(doc) > ChunkSize {
		l.endChunk()
	}
	l.chunk = append(l.chunk, doc...)
	if len(l.chunk) >= ChunkSize {
		l.endChunk()
	}
}

func (l *Log) endChunk() {
	if len(l.chunk) == 0 {
		return
	}
	l.ready = append(l.ready, l.chunk)
	l.chunk = nil
	select {
	case l.full <- struct{}{}:
	default: // it is known already
	}
}

// tail is the last lines of a log that was cut.
type tail struct {
	from    source // of the last one
	lines   [][]byte
	size    int
	missing int
}

func (t *tail) add(from source, doc []byte) {
	t.from = from
	t.lines = append(t.lines, doc)
	for t.size += len(doc); t.size > Tail && len(t.lines) > 1; t.missing++ {
		t.size -= len(t.lines[0])
		t.lines = t.lines[1:]
	}
}
