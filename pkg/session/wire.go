package session

import (
	"encoding/json"
	"fmt"
	"net"
	"sync"
)

// What an entry and its host say to each other: JSON values, one after the other.

// fromEntry is what an entry says. Exactly one field is set.
type fromEntry struct {
	Hello   *hello `json:"hello,omitempty"`
	Started bool   `json:"started,omitempty"`
	Frame   *Frame `json:"frame,omitempty"`
	Ended   *Exit  `json:"ended,omitempty"`
}

type hello struct {
	Step    string `json:"step"`
	Attempt int    `json:"attempt"`
	Token   string `json:"token"`
}

// toEntry is what a host says. Exactly one field is set.
type toEntry struct {
	Start *Start `json:"start,omitempty"`
	// Stop asks for the end of the command, with so many seconds to do so.
	Stop *Stop `json:"stop,omitempty"`
	// Kept says that the end is in the journal: the entry may go.
	Kept bool `json:"kept,omitempty"`
}

// line is one side of a connection. It may be written to by several.
type line[In, Out any] struct {
	conn net.Conn
	dec  *json.Decoder
	mu   sync.Mutex
	enc  *json.Encoder
}

func newLine[In, Out any](conn net.Conn) *line[In, Out] {
	return &line[In, Out]{conn: conn, dec: json.NewDecoder(conn), enc: json.NewEncoder(conn)}
}

func (l *line[In, Out]) read() (In, error) {
	var v In
	if err := l.dec.Decode(&v); err != nil {
		return v, fmt.Errorf("read from the other side: %w", err)
	}
	return v, nil
}

func (l *line[In, Out]) write(v Out) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.enc.Encode(v); err != nil {
		return fmt.Errorf("write to the other side: %w", err)
	}
	return nil
}
