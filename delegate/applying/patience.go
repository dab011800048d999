package applying

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Outage is how long a cluster that has answered before may be gone: as long
// as its API server takes to be restarted or replaced.
const Outage = time.Minute

// The waits between tries grow from the first to the last, or are what the
// server asks for up to longestAsked.
const (
	firstPause   = 100 * time.Millisecond
	lastPause    = 2 * time.Second
	longestAsked = 10 * time.Second
)

// patient is the one place that decides what of a cluster's is transient, for
// everything that asks one: it sends requests again while the API server is
// away, breaks off its answers, is overloaded or changes its leader. A server
// that has never answered is given up at once, because its address may be
// wrong.
type patient struct {
	next  http.RoundTripper
	heard *atomic.Bool
}

// RoundTrip sends a request until there is a whole answer, the cluster has been
// away for too long, or the request can't be sent twice.
func (p patient) RoundTrip(req *http.Request) (*http.Response, error) {
	pause, end := firstPause, time.Now().Add(Outage)
	maybeDone := false // what was asked for before
	for {
		resp, err := p.next.RoundTrip(req)
		if err == nil {
			if resp.StatusCode < http.StatusInternalServerError {
				p.heard.Store(true) // also if the rest of its answer gets lost
			}
			resp, err = complete(req, resp)
		}
		if errors.Is(err, errAnswer) {
			return nil, err // the same would come again
		}
		state := stateOf(resp, err)
		if state == settled {
			p.heard.Store(true)
			if maybeDone {
				return p.ours(req, resp), nil
			}
			return resp, nil
		}
		wait := max(pause, asked(resp))
		if !p.heard.Load() || !again(req, state) || time.Now().Add(wait).After(end) {
			return resp, err
		}
		next, cause := another(req)
		if cause != nil {
			return resp, err
		}
		maybeDone = maybeDone || state == unknown
		if err == nil {
			_ = resp.Body.Close() // it was read
		}
		if err := waited(req, wait); err != nil {
			return nil, err
		}
		req, pause = next, min(2*pause, lastPause)
	}
}

// waited waits, unless the request's context ends.
func waited(req *http.Request, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-req.Context().Done():
		return req.Context().Err()
	}
}

// streams says whether an answer has no end of its own.
func streams(req *http.Request, resp *http.Response) bool {
	return resp.StatusCode == http.StatusSwitchingProtocols || req.URL.Query().Get("watch") != "" || strings.HasSuffix(req.URL.Path, "/log")
}

// complete reads an answer to its end, as its reader would, so that one that is
// cut off is known for what it is before anybody has seen a part of it. One that
// is too large is refused.
func complete(req *http.Request, resp *http.Response) (*http.Response, error) {
	if resp.Body == nil {
		return resp, nil
	}
	if streams(req, resp) {
		bound(req, resp)
		return resp, nil
	}
	doc, err := readAnswer(req, resp.Body)
	_ = resp.Body.Close() // it was read, or can't be
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	return resp, nil
}

// state is what is known of a request.
type state int

const (
	settled state = iota // it was answered
	undone               // it hasn't reached the server, or wasn't taken
	unknown              // it may have been done
)

// stateOf reads the outcome of a request.
func stateOf(resp *http.Response, err error) state {
	var op *net.OpError
	switch {
	case err != nil && errors.As(err, &op) && op.Op == "dial":
		return undone
	case err != nil:
		return unknown
	}
	switch resp.StatusCode {
	case http.StatusServiceUnavailable:
		return undone
	case http.StatusTooManyRequests:
		if resp.Header.Get("Retry-After") != "" { // else a rule says no, such as a disruption budget
			return undone
		}
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		return unknown
	case http.StatusInternalServerError:
		if storeMoves(resp) {
			return unknown
		}
	}
	return settled
}

// storeMoves says whether the API server's own store had no leader.
func storeMoves(resp *http.Response) bool {
	doc, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(doc))
	return err == nil && slices.ContainsFunc([]string{"etcdserver: leader changed", "etcdserver: request timed out", "etcdserver: no leader"}, func(s string) bool {
		return bytes.Contains(doc, []byte(s))
	})
}

// asked is the wait that an answer asks for; 0 for none.
func asked(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, longestAsked)
}

// again says whether a request may be sent again: nothing was done, or twice is
// the same as once.
func again(req *http.Request, s state) bool {
	if req.Context().Err() != nil {
		return false
	}
	// What is made has a name, and what is replaced a version: a second time is
	// refused, and ours finds out whether the first was taken.
	return s == undone || req.Context().Value(repeatableKey{}) != nil || !slices.Contains([]string{"application/json-patch+json", "application/strategic-merge-patch+json"}, req.Header.Get("Content-Type"))
}

type repeatableKey struct{}

// Repeatable makes a context for a patch that writes the same each time, however
// it looks, so that it may be sent again.
func Repeatable(ctx context.Context) context.Context {
	return context.WithValue(ctx, repeatableKey{}, true)
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
