package api

import "sync"

// Feed tells whoever looks at an execution that it has changed, within one
// process. It says that there is news, never what: readers ask the store, so
// a signal that is lost or doubled costs nothing but time.
type Feed struct {
	mu        sync.Mutex
	followers map[string]map[chan struct{}]struct{} // by execution
	closed    bool
}

// NewFeed makes a Feed.
func NewFeed() *Feed { return &Feed{followers: map[string]map[chan struct{}]struct{}{}} }

// Changed tells of a change. It never waits.
func (f *Feed) Changed(execution string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.followers[execution] {
		select {
		case c <- struct{}{}:
		default: // a signal is waiting there already
		}
	}
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
}
