package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"
)

// Network stands between a server and those who call it, on loopback.
type Network struct {
	URL string

	mu    sync.Mutex
	conns map[net.Conn]bool
	lost  int           // answers that are still to be lost
	twice int           // requests that are still to be sent twice
	late  time.Duration // how late answers are
}

// NewNetwork is a network before a server, for the test's time.
func NewNetwork(tb testing.TB, target string) *Network {
	tb.Helper()
	u, err := url.Parse(target)
	if err != nil {
		tb.Fatal(err)
	}
	n := &Network{conns: map[net.Conn]bool{}}
	proxy := httputil.NewSingleHostReverseProxy(u)
	proxy.Transport = n
	proxy.ErrorHandler = hangUp
	server := httptest.NewUnstartedServer(proxy)
	server.Listener = listener{server.Listener, n}
	server.Start()
	tb.Cleanup(func() {
		n.Cut()
		server.Close()
	})
	n.URL = server.URL
	return n
}

// hangUp is how a network answers for a server that doesn't.
func hangUp(w http.ResponseWriter, _ *http.Request, _ error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_ = conn.Close() // that is the answer
}

// Cut closes every connection.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		_ = c.Close() // it may be closed
	}
	clear(n.conns)
}

// Lose loses the next answers: what they answer has happened.
func (n *Network) Lose(answers int) { n.set(func() { n.lost = answers }) }

// Double sends the next requests twice; the first answer is lost.
func (n *Network) Double(requests int) { n.set(func() { n.twice = requests }) }

// Delay makes answers late from now on.
func (n *Network) Delay(by time.Duration) { n.set(func() { n.late = by }) }

func (n *Network) set(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
}

// errLost is an answer that doesn't come.
var errLost = errors.New("the answer is lost")

// RoundTrip sends a request to the server, with what goes wrong just now. A
// connection that stays open as a socket is only cut.
func (n *Network) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Upgrade") != "" {
		return http.DefaultTransport.RoundTrip(r)
	}
	n.mu.Lock()
	late, lose, double := n.late, n.lost > 0, n.twice > 0
	n.lost, n.twice = max(0, n.lost-1), max(0, n.twice-1)
	n.mu.Unlock()
	var body []byte
	if r.Body != nil { // one without a body has none here
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
	}
	answer, err := send(r, body)
	if err == nil && double {
		drop(answer)
		answer, err = send(r, body)
	}
	if err == nil && lose {
		drop(answer)
		return nil, errLost
	}
	select {
	case <-time.After(late):
	case <-r.Context().Done():
	}
	return answer, err
}

func send(r *http.Request, body []byte) (*http.Response, error) {
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(again)
}

func drop(answer *http.Response) {
	_, _ = io.Copy(io.Discard, answer.Body) // nobody hears of it
	_ = answer.Body.Close()
}

// listener knows the connections that it has accepted.
type listener struct {
	net.Listener
	of *Network
}

// Accept waits for a connection, and notes it.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.of.set(func() { l.of.conns[c] = true })
	}
	return c, err
}
