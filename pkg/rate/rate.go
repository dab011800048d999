// Package rate bounds how often callers ask: each has a bucket that fills by itself, and
// takes from it with every request.
//
// It is one process's: where several answer, each lets as much through. Who a caller is,
// and what is answered to who asks too often, is pkg/api's.
package rate

import (
	"sync"
	"time"
)

// Rates are how often somebody may ask, per second; 0: as often as one likes.
type Rates struct {
	Requests int // of the bearer of a token
	Logins   int // of an address, where people log in
}

// The rates of who says nothing, and the largest.
const (
	Most            = 1_000_000
	DefaultRequests = 50
	DefaultLogins   = 5
)

// maxCallers is of how many callers a Limiter knows at once. Whose bucket is full is
// forgotten first; who comes beyond that, when none is, is let through: to forget others
// would give these a full one.
const maxCallers = 100_000

// Limiter has a bucket for each caller. nil lets everybody through.
type Limiter struct {
	every time.Duration // between two requests, in the long run
	room  time.Duration // that many of them at once

	mu sync.Mutex
	// full is when a caller's bucket is full again; one that isn't in it is.
	full map[string]time.Time
	most int
}

// New makes a Limiter for so many requests a second, and so many at once; nil without
// a limit.
func New(perSecond, burst int) *Limiter {
	if perSecond <= 0 {
		return nil
	}
	every := time.Second / time.Duration(min(perSecond, Most))
	return &Limiter{every: every, room: every * time.Duration(max(burst, 1)), full: map[string]time.Time{}, most: maxCallers}
}

// Take takes a request from a caller's bucket. It says how many more there are, or how
// long the caller waits for one. Time is taken as it passes, not as a clock is set, if now
// is time.Now's.
func (l *Limiter) Take(caller string, now time.Time) (left int, wait time.Duration) {
	if l == nil {
		return 0, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	full, known := l.full[caller]
	if !known || full.Before(now) {
		full = now
	}
	next := full.Add(l.every)
	if over := next.Sub(now) - l.room; over > 0 {
		return 0, over
	}
	if !known && len(l.full) >= l.most {
		l.forget(now)
	}
	if known || len(l.full) < l.most {
		l.full[caller] = next
	}
	return int((l.room - next.Sub(now)) / l.every), 0
}

// forget forgets whose bucket is full.
func (l *Limiter) forget(now time.Time) {
	for caller, full := range l.full {
		if !full.After(now) {
			delete(l.full, caller)
		}
	}
}
