// Package door is the network side of a server: a listener that bounds the
// connections, that lets nobody stop reading for ever what is sent to him, and
// that speaks TLS with a certificate which may change while it runs.
//
// It knows nothing of requests. What their bodies may take is pkg/api's.
package door

import (
	"context"
	"log/slog"
	"net"
	"sync"
	"time"
)

// Listener is a TCP listener whose connections are bounded, in all and for one
// address. One too many is closed at once: in a queue it would stand before
// those that have room.
type Listener struct {
	net.Listener
	Log       *slog.Logger
	Most      int // connections in all
	PerRemote int // connections of one address

	mu      sync.Mutex
	open    int
	remotes map[string]int
	told    time.Time
}

// A process may have some 1,000 files open where nobody has raised the limit
// for services; Go raises what it may. A connection takes some 20 KB while it
// is idle.
const (
	Most      = 4096
	PerRemote = 1024
)

// toldEvery is how often the log tells of connections that were closed.
const toldEvery = time.Minute

// Accept waits for the next connection that there is room for (net.Listener).
func (l *Listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		remote := host(c)
		if l.enter(remote) {
			return &conn{Conn: c, leave: sync.OnceFunc(func() { l.leave(remote) })}, nil
		}
		_ = c.Close() // the other side sees it
	}
}

func (l *Listener) enter(remote string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.Most || l.remotes[remote] >= l.PerRemote {
		if now := time.Now(); now.Sub(l.told) >= toldEvery {
			l.told = now
			l.Log.WarnContext(context.Background(), "too many connections; closed a new one", "remote", remote, "open", l.open, "of remote", l.remotes[remote])
		}
		return false
	}
	if l.remotes == nil {
		l.remotes = map[string]int{}
	}
	l.open++
	l.remotes[remote]++
	return true
}

func (l *Listener) leave(remote string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	if l.remotes[remote]--; l.remotes[remote] == 0 {
		delete(l.remotes, remote)
	}
}

func host(c net.Conn) string {
	address := c.RemoteAddr().String()
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}

const (
	// writeGrace is how long the other side may take to make room for what is
	// written, however little.
	writeGrace = 30 * time.Second
	// writeRate is how many bytes a second it takes besides, at least.
	writeRate = 16 << 10
)

// conn is a connection on which each write has a deadline. Answers that last
// as long as what they tell of, such as logs that are followed, go on while
// somebody reads.
type conn struct {
	net.Conn
	leave func()
}

// Write writes within the time that the other side has (net.Conn).
func (c *conn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeGrace + time.Duration(len(p))*time.Second/writeRate)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close closes the connection (net.Conn).
func (c *conn) Close() error {
	c.leave()
	return c.Conn.Close()
}

// CloseWrite says that nothing more will be written: the other side can read
// an answer that it hasn't sent everything for.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
