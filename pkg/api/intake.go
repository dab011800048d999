package api

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Intake bounds what the bodies that are being read take of the process, for
// one caller and for all. A caller is a token, or an address where requests
// come without one. Small bodies have room of their own, so that large ones
// that come slowly don't stand in their way.
type Intake struct {
	lanes [4]lane
}

// smallBody is the size in bytes up to which a body counts as small: almost
// all requests, and most deliveries of Git hosts.
const smallBody = 64 << 10

// largestBody is the size in bytes that no endpoint's limit is over. One whose
// length isn't said counts as that.
const largestBody = maxDelegateBody

// intakeWait is how long a body waits for room. Bursts of good callers pass;
// what is waiting holds no memory.
const intakeWait = 5 * time.Second

// NewIntake makes an Intake. In bytes, what strangers can make a process hold
// is 192 MiB, and what callers with tokens can is 384 MiB; twice that while
// buffers grow.
func NewIntake() *Intake {
	return &Intake{lanes: [4]lane{
		// least 64 KiB: 128 bodies for an address, 1,024 for all.
		{name: "small bodies", least: smallBody, each: 8 << 20, all: semaphore.NewWeighted(64 << 20)},
		// least 2 MiB: 16 bodies for an address, 64 for all.
		{name: "large bodies", least: 2 << 20, each: 32 << 20, all: semaphore.NewWeighted(128 << 20)},
		// 512 bodies for a token, 2,048 for all.
		{name: "small bodies", known: true, least: smallBody, each: 32 << 20, all: semaphore.NewWeighted(128 << 20)},
		// 32 bodies for a token, 128 for all.
		{name: "large bodies", known: true, least: 2 << 20, each: 64 << 20, all: semaphore.NewWeighted(256 << 20)},
	}}
}

// enter waits for room for the body of a request, and gives it free again by
// leave. A body that nobody sends needs none.
func (i *Intake) enter(r *http.Request) (leave func(), err error) {
	if i == nil || r.Body == nil || r.Body == http.NoBody {
		return func() {}, nil
	}
	size := r.ContentLength
	if size < 0 || size > largestBody {
		size = largestBody
	}
	who, known := remote(r), false
	if t := caller(r.Context()); t.ID != "" {
		who, known = t.ID, true
	}
	at := 0
	if known {
		at += 2
	}
	if size > smallBody {
		at++
	}
	return i.lanes[at].enter(r.Context(), who, size)
}

// lane is the room for one sort of bodies, in bytes.
type lane struct {
	name  string
	known bool
	least int64 // what a body counts at least: bounds their number
	each  int64 // the room of one caller
	all   *semaphore.Weighted

	mu      sync.Mutex
	callers map[string]*room // those with a body under way or waiting
}

// room is that of one caller.
type room struct {
	free *semaphore.Weighted
	uses int
}

func (l *lane) enter(ctx context.Context, who string, size int64) (leave func(), err error) {
	size = max(size, l.least)
	own := l.room(who)
	ctx, cancel := context.WithTimeout(ctx, intakeWait)
	defer cancel()
	if own.free.Acquire(ctx, size) != nil {
		l.leave(who, own)
		whose := "of this address"
		if l.known {
			whose = "of this token"
		}
		return nil, fault.New(fault.TooMany, "too many %s %s are being read (%d bytes at most); try again later", l.name, whose, l.each)
	}
	if l.all.Acquire(ctx, size) != nil {
		own.free.Release(size)
		l.leave(who, own)
		return nil, fault.New(fault.Unavailable, "too many %s are being read; try again later", l.name)
	}
	return func() {
		l.all.Release(size)
		own.free.Release(size)
		l.leave(who, own)
	}, nil
}

func (l *lane) room(who string) *room {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.callers == nil {
		l.callers = map[string]*room{}
	}
	s := l.callers[who]
	if s == nil {
		s = &room{free: semaphore.NewWeighted(l.each)}
		l.callers[who] = s
	}
	s.uses++
	return s
}

func (l *lane) leave(who string, s *room) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.uses--; s.uses == 0 {
		delete(l.callers, who)
	}
}

// hostOf is an address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

// remote is where a request comes from. Who has an IPv6 address mostly has
// all of its /64.
func remote(r *http.Request) string {
	host := hostOf(r.RemoteAddr)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String()
	}
	net, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return net.String()
}
