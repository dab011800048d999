package logstream

import (
	"bytes"
	"io"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/redact"
)

// maxLine is where a longer line goes on as a new one, in bytes of its text.
const maxLine = 16 << 10

// writer cuts what one source writes into lines. Its log's mu guards it.
type writer struct {
	log    *Log
	from   source
	masked *redact.Writer // nil: nothing is hidden
	line   []byte         // without its end, so far
}

func newWriter(l *Log, from source) *writer {
	w := &writer{log: l, from: from}
	if l.cfg.Masker != nil {
		w.masked = l.cfg.Masker.Writer(lineCutter{w})
	}
	return w
}

// Write takes a part of the source's text.
func (w *writer) Write(p []byte) (int, error) {
	w.log.mu.Lock()
	defer w.log.mu.Unlock()
	if w.log.closed {
		return len(p), nil
	}
	return w.into().Write(p)
}

func (w *writer) into() io.Writer {
	if w.masked != nil {
		return w.masked
	}
	return lineCutter{w}
}

// finish ends the last line.
func (w *writer) finish() error {
	if w.masked != nil {
		if err := w.masked.Flush(); err != nil {
			return err
		}
	}
	if len(w.line) == 0 {
		return nil
	}
	return w.end()
}

func (w *writer) end() error {
	text := string(bytes.TrimSuffix(w.line, []byte("\r")))
	w.line = w.line[:0]
	return w.log.take(w.from, text)
}

// lineCutter is a writer behind its mask.
type lineCutter struct{ w *writer }

// Write takes masked text. The caller holds the log's mu.
func (c lineCutter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		if err := c.w.extend(part); err != nil {
			return 0, err
		}
		if ended {
			if err := c.w.end(); err != nil {
				return 0, err
			}
		}
		rest = after
	}
	return len(p), nil
}

// extend adds to the line, and ends it wherever it gets too long.
func (w *writer) extend(part []byte) error {
	for len(w.line)+len(part) > maxLine {
		n := maxLine - len(w.line)
		w.line, part = append(w.line, part[:n]...), part[n:]
		whole := len(w.line) - begunRune(w.line)
		begun := bytes.Clone(w.line[whole:])
		w.line = w.line[:whole]
		if err := w.end(); err != nil {
			return err
		}
		w.line = append(w.line, begun...)
	}
	w.line = append(w.line, part...)
	return nil
}

// begunRune is how many bytes at the end of a text begin a character that the
// text doesn't end.
func begunRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if last := text[len(text)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}
