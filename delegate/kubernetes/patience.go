package kubernetes

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"
)

// outage is how long a cluster that has answered before may be gone: as long
// as its API server takes to be restarted or replaced.
const outage = time.Minute

// The waits between tries grow from the first to the last.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// patient sends requests again while the API server is away. A server that
// has never answered is given up at once, because its address may be wrong.
type patient struct {
	next  http.RoundTripper
	heard *atomic.Bool
}

// RoundTrip sends a request until there is an answer, the cluster has been
// away for too long, or the request can't be sent twice.
func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	pause, end := firstPause, time.Now().Add(outage)
	for {
		resp, err := p.next.RoundTrip(req)
		if err == nil && resp.StatusCode != http.StatusServiceUnavailable {
			p.heard.Store(true)
			return resp, nil
		}
		if !p.heard.Load() || !again(req, err) || time.Now().Add(pause).After(end) {
			return resp, err
		}
		next, cause := another(req)
		if cause != nil {
			return resp, err
		}
		if err == nil {
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
			_ = resp.Body.Close()
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-req.Context().Done():
			timer.Stop()
			return nil, req.Context().Err()
		}
		req, pause = next, min(2*pause, lastPause)
	}
}

// again says whether a request may be sent again: it hasn't reached the server,
// the server wasn't ready, or twice is the same as once.
func again(req *http.Request, err error) bool {
	if req.Context().Err() != nil {
		return false
	}
	var op *net.OpError
	if err == nil || errors.As(err, &op) && op.Op == "dial" {
		return true
	}
	// What is made has a name, and what is replaced a version: a second time is refused.
	return !slices.Contains([]string{"application/json-patch+json", "application/strategic-merge-patch+json"}, req.Header.Get("Content-Type"))
}

// another is the same request with its body from the beginning.
func another(req *http.Request) (*http.Request, error) {
	next := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return next, nil
	}
	if req.GetBody == nil {
		return nil, errors.New("the body can't be read again")
	}
	var err error
	next.Body, err = req.GetBody()
	return next, err
}
