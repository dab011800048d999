package api

import (
	"maps"
	"slices"
	"sync"
)

// Feed tells whoever looks at an execution that it has changed, within one
// process. It says that there is news, never what: readers ask the store, so
// a signal that is lost or doubled costs nothing but time.
type Feed struct {
	mu        sync.Mutex
	followers map[string]map[chan struct{}]struct{} // by execution
	listeners map[*listener]struct{}                // of all executions
	closed    bool
}

// listener hears of every execution that changes. Changes is closed with the Feed.
type listener struct {
	changes chan struct{}
	names   map[string]struct{} // since they were last taken, so many at most
	more    bool                // there were others
}

// mostNames is how many executions a listener knows apart.
const mostNames = 1000

// NewFeed makes a Feed.
func NewFeed() *Feed {
	return &Feed{followers: map[string]map[chan struct{}]struct{}{}, listeners: map[*listener]struct{}{}}
}

// Changed tells of a change. It never waits.
func (f *Feed) Changed(execution string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.followers[execution] {
		offer(c, struct{}{})
	}
	for l := range f.listeners {
		if len(l.names) < mostNames {
			l.names[execution] = struct{}{}
		} else if _, known := l.names[execution]; !known {
			l.more = true
		}
		offer(l.changes, struct{}{})
	}
}

// listen hears of all executions from now on, until stop. Of a nil or a closed Feed
// there is nothing to hear, as Follow says.
func (f *Feed) listen() (l *listener, stop func()) {
	l = &listener{changes: make(chan struct{}, 1), names: map[string]struct{}{}}
	if f == nil {
		close(l.changes)
		return l, func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		close(l.changes)
		return l, func() {}
	}
	f.listeners[l] = struct{}{}
	return l, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.listeners, l)
	}
}

// take gives the executions that a listener has heard of since it last took them, in
// the order of their ids. more: there were others.
func (f *Feed) take(l *listener) (executions []string, more bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	executions, more = slices.Sorted(maps.Keys(l.names)), l.more
	clear(l.names)
	l.more = false
	return executions, more
}

// Follow gives a channel that gets a signal after each change of an
// execution; it is closed with the Feed. stop ends the following.
//
// Of a nil Feed it is closed at once: where answers are sent whole, nobody is
// kept waiting for more. Whoever wants it asks again.
func (f *Feed) Follow(execution string) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	if f == nil {
		close(c)
		return c, func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		close(c)
		return c, func() {}
	}
	if f.followers[execution] == nil {
		f.followers[execution] = map[chan struct{}]struct{}{}
	}
	f.followers[execution][c] = struct{}{}
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.followers[execution], c)
		if len(f.followers[execution]) == 0 {
			delete(f.followers, execution)
		}
	}
}

// Close ends every following, so that a server can stop.
func (f *Feed) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, cs := range f.followers {
		for c := range cs {
			close(c)
		}
	}
	clear(f.followers)
	for l := range f.listeners {
		close(l.changes)
	}
	clear(f.listeners)
}
