// Package testservers has stand-ins for the systems that steps talk to, for
// tests: each keeps what its vendor documents of the requests that Slipway
// sends, in memory, and refuses the rest.
//
// They are no copies of the systems: what isn't documented isn't here.
package testservers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// The credentials that every server takes by RFC 7617.
const (
	Username = "robot@example.com"
	Password = "s3cret-Pa55"
)

// base is what the servers have in common.
type base struct {
	URL string
	// Saw is told of each request, e.g. "GET /rest/api/2/issue/DEMO-1"; nil
	// tells nobody. It is set before the first.
	Saw func(request string)

	mu       sync.Mutex
	requests []string // method and path of each, in order
	broken   int      // how many requests get status 503 from now on
}

// start serves until the test ends.
func (b *base) start(tb testing.TB, handler http.Handler) {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		defer b.mu.Unlock() // one request at a time: handlers needn't lock
		b.requests = append(b.requests, r.Method+" "+r.URL.Path)
		if b.broken > 0 {
			b.broken--
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
		if b.Saw != nil {
			b.Saw(r.Method + " " + r.URL.Path)
		}
	}))
	tb.Cleanup(s.Close)
	b.URL = s.URL
}

// Requests lists the requests so far, e.g. "GET /rest/api/2/issue/DEMO-1".
func (b *base) Requests() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.requests...)
}

// Break makes the next n requests fail with status 503.
func (b *base) Break(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.broken = n
}

// authorized checks the credentials.
func authorized(r *http.Request) bool {
	user, password, ok := r.BasicAuth()
	return ok && user == Username && password == Password
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	if v != nil {
		_ = json.NewEncoder(w).Encode(v) // who asked has gone
	}
}

// object is a JSON object.
type object = map[string]any
