// Package redact hides secret values in text that leaves a delegate: logs as
// they stream, and messages.
//
// A value is hidden wherever it stands, as it is and in the forms that tools
// commonly give it (see forms). What a script computes from a value in other
// ways isn't recognised. Which values are secret is the caller's to say.
package redact

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Mask stands for what is hidden, whatever its length.
const Mask = "**************"

// Masker hides a set of values. The set may grow while writers are in use.
// It is for many goroutines.
type Masker struct {
	mu      sync.Mutex // of Add
	values  []string
	current atomic.Pointer[matcher]
}

// New gives a Masker of the values. Those shorter than three characters,
// leaving out white space around them, are let through: hiding them would
// hide half the log (semantics/entities §10).
func New(values ...string) *Masker {
	m := &Masker{}
	m.current.Store(newMatcher(nil))
	m.Add(values...)
	return m
}

// Add hides more values from now on, also for the writers that exist.
func (m *Masker) Add(values ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.values)
	for _, v := range values {
		if worthHiding(v) && !slices.Contains(m.values, v) {
			m.values = append(m.values, v)
		}
	}
	if len(m.values) == before {
		return
	}
	var all []string
	for _, v := range m.values {
		all = append(all, forms(v)...)
	}
	m.current.Store(newMatcher(all))
}

// Text hides the values in a whole text.
func (m *Masker) Text(text string) string {
	matcher := m.current.Load()
	if matcher.empty() {
		return text
	}
	s := scan{out: make([]byte, 0, len(text))}
	s.run(matcher, []byte(text), true)
	return string(s.out)
}

// String shows none of the values.
func (m *Masker) String() string { return "masker" }

// GoString is String: %#v must not show what is inside either.
func (m *Masker) GoString() string { return m.String() }
