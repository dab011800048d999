package apiclient_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-cd/slipway/pkg/apiclient"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestWhatComesTooSoonIsSentAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, remaining string
		refusals, want  int64 // requests
		code            fault.Code
	}{
		{name: "twice too soon", remaining: "0", refusals: 2, want: 3},
		{name: "for ever", remaining: "0", refusals: 1 << 40, want: 6, code: fault.TooMany},
		{name: "too much of something else", refusals: 1 << 40, want: 1, code: fault.TooMany},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var came atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if string(body) != "variable: {}" {
					t.Errorf("the body is %q", body)
				}
				if came.Add(1) > c.refusals {
					_, _ = w.Write([]byte(`{"change":"created"}`))
					return
				}
				if c.remaining != "" {
					w.Header().Set("RateLimit-Remaining", c.remaining)
				}
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = w.Write([]byte(`{"code":"TOO_MANY_REQUESTS","message":"too many","details":[]}`))
			}))
			t.Cleanup(server.Close)
			_, err := apiclient.New(server.URL, "t").Save(t.Context(), apiclient.Document{YAML: []byte("variable: {}")})
			if came.Load() != c.want || (err != nil) != (c.code != "") || err != nil && (!fault.Is(err, c.code) || !strings.Contains(err.Error(), "too many")) {
				t.Errorf("%d requests, and then %v; want %d", came.Load(), err, c.want)
			}
		})
	}
}
