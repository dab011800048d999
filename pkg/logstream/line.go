// Package logstream is how the log of a step travels and is kept: as lines
// with their time and place, in numbered chunks.
//
// A delegate writes with Log; whoever shows a log reads with Decode. Storing
// chunks is pkg/store's, sending them the delegate's, and which values to hide
// in them its masker's.
package logstream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
)

// Level is the level of a line: what a program wrote to its standard output is
// Info, what it wrote to its standard error is Error.
type Level string

// The levels.
const (
	Info  Level = "INFO"
	Error Level = "ERROR"
)

// Line is one line of a step's log.
type Line struct {
	Time  int64  `json:"t"`           // when it ended, in milliseconds since 1970
	Unit  string `json:"u,omitempty"` // the command unit, a section of the step's log
	Level Level  `json:"l,omitempty"`
	Text  string `json:"m"` // without its line break
}

// Encode gives a line as it stands in a chunk: a JSON object and a line break.
func Encode(l Line) ([]byte, error) {
	var doc bytes.Buffer
	enc := json.NewEncoder(&doc)
	enc.SetEscapeHTML(false) // logs are full of < and &
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("encode a log line: %w", err)
	}
	return doc.Bytes(), nil
}

// Decode goes through the lines of a chunk. It ends with the first error.
func Decode(chunk []byte) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		for doc := range bytes.Lines(chunk) {
			var l Line
			if err := json.Unmarshal(doc, &l); err != nil {
				yield(Line{}, fmt.Errorf("decode a log line: %w", err))
				return
			}
			if !yield(l, nil) {
				return
			}
		}
	}
}
