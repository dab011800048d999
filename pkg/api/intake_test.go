package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// held is a body that doesn't come before it is let go.
type held struct {
	once    sync.Once
	reading func() // is told of the first attempt to read it
	free    <-chan struct{}
}

func (h *held) Read([]byte) (int, error) {
	h.once.Do(h.reading)
	<-h.free
	return 0, io.EOF
}

// deliver sends a delivery whose body has the given size.
func deliver(t *testing.T, s http.Handler, from string, size int64, body io.Reader) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhooks/github", body)
	r.Header.Set("X-Hub-Signature-256", "sha256=00")
	r.RemoteAddr, r.ContentLength = from, size
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// As many bodies are read at once as there is room for, and not one more; the
// others are told when to come back.
func TestBodiesAtOnceAreBounded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		size      int64
		addresses int // each of which sends
		bodies    int // so many
		extra     string
		code      fault.Code
		status    int
	}{
		{"small ones of an address", 64 << 10, 1, 128, "10.0.0.0:2", fault.TooMany, 429},
		{"small ones in all", 64 << 10, 8, 128, "10.9.9.9:2", fault.Unavailable, 503},
		{"large ones of an address", 64<<10 + 1, 1, 16, "10.0.0.0:2", fault.TooMany, 429},
		{"large ones in all", 64<<10 + 1, 4, 16, "10.9.9.9:2", fault.Unavailable, 503},
		{"of a size that isn't said", -1, 1, 2, "10.0.0.0:2", fault.TooMany, 429},
		{"of a network", 64<<10 + 1, 1, 16, "", fault.TooMany, 429},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.cfg.Intake = api.NewIntake()
			plane := api.New(s.cfg)
			free := make(chan struct{})
			var in, all sync.WaitGroup
			for a := range c.addresses {
				from := fmt.Sprintf("10.0.0.%d:1", a)
				if c.extra == "" {
					from = "[2001:db8::1]:1"
				}
				for range c.bodies {
					in.Add(1)
					all.Go(func() { deliver(t, plane, from, c.size, &held{reading: in.Done, free: free}) })
				}
			}
			in.Wait()
			extra := c.extra
			if extra == "" {
				extra = "[2001:db8::2]:1"
			}
			w := deliver(t, plane, extra, c.size, strings.NewReader("{}"))
			if w.Code != c.status || !strings.Contains(w.Body.String(), string(c.code)) || w.Header().Get("Retry-After") == "" {
				t.Errorf("one too many is answered with %d, Retry-After %q: %s; want %d %s", w.Code, w.Header().Get("Retry-After"), w.Body, c.status, c.code)
			}
			close(free)
			all.Wait()
			if w := deliver(t, plane, extra, c.size, strings.NewReader("{}")); w.Code != http.StatusUnauthorized {
				t.Errorf("when the others have ended: %d %s; want that it is read", w.Code, w.Body)
			}
		})
	}
}
