package redact

import "io"

// Writer hides values in a stream. A value that is spread over several writes
// is found too: bytes that may be the beginning of one are kept back, which
// is less than the longest form of a value. It is for one goroutine.
type Writer struct {
	masker *Masker
	to     io.Writer
	kept   []byte
	scan   scan
}

// Writer gives a writer that hides the values on the way to w.
func (m *Masker) Writer(w io.Writer) *Writer { return &Writer{masker: m, to: w} }

// Write passes on what is known to hold no value.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.pass(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what was kept back. It is for the end of the stream: a
// value that goes on after it isn't found.
func (w *Writer) Flush() error { return w.pass(nil, true) }

func (w *Writer) pass(p []byte, last bool) error {
	text := p
	if len(w.kept) > 0 {
		text = append(w.kept, p...)
	}
	w.scan.out = w.scan.out[:0]
	rest := w.scan.run(w.masker.current.Load(), text, last)
	w.kept = append(w.kept[:0], rest...) // rest may be part of kept: append copies forward
	if len(w.scan.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.scan.out)
	return err
}
