package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// repeater is a network that delivers the results of tasks late and twice,
// while on says so.
type repeater struct{ on *atomic.Bool }

// late is how long a result is under way, each time.
const late = 300 * time.Millisecond

func (r repeater) RoundTrip(req *http.Request) (*http.Response, error) {
	if !r.on.Load() || !strings.HasSuffix(req.URL.Path, "/result") {
		return http.DefaultTransport.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	first, err := r.deliver(req, body)
	if err != nil {
		return nil, err
	}
	if err := first.Body.Close(); err != nil {
		return nil, fmt.Errorf("lose an answer: %w", err)
	}
	return r.deliver(req, body)
}

func (r repeater) deliver(req *http.Request, body []byte) (*http.Response, error) {
	select {
	case <-req.Context().Done():
		return nil, req.Context().Err()
	case <-time.After(late):
	}
	again := req.Clone(req.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	return http.DefaultTransport.RoundTrip(again)
}
