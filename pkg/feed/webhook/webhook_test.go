package webhook_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/feed/webhook"
)

func TestSubscriber(t *testing.T) {
	t.Parallel()
	for status, taken := range map[int]bool{http.StatusNoContent: true, http.StatusOK: true, http.StatusFound: false, http.StatusBadGateway: false} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			event := feed.Event{
				Type: feed.ExecutionEnded, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Detail: feed.Detail{ID: "x1/2/execution-ended", Account: "acme"},
			}
			var got feed.Envelope
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if err := json.NewDecoder(r.Body).Decode(&got); err != nil || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("a body of %q: %v", r.Header.Get("Content-Type"), err)
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(status)
			}))
			defer server.Close()
			err := webhook.Subscriber(server.URL).Handle(t.Context(), event)
			if (err == nil) != taken {
				t.Errorf("the answer %d gives the error %v", status, err)
			}
			if diff := cmp.Diff(event, got.Event()); diff != "" {
				t.Errorf("the event (-want +got):\n%s", diff)
			}
		})
	}
}

// A URL often has a token in it, and what goes wrong is logged.
func TestErrorsDoNotShowTheURL(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	host := strings.TrimPrefix(closed.URL, "http://")
	for _, tt := range []struct{ name, url, says string }{
		{"nobody listens", closed.URL + "/tok3n?key=tok3n", host + " can't be reached"},
		{"the user is a token", "http://ops:tok3n@" + host + "/tok3n", host + " can't be reached"},
		{"no URL", "http://hooks.example.com:tok3n/", "can't be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := webhook.Subscriber(tt.url).Handle(t.Context(), feed.Event{Detail: feed.Detail{ID: "x1/2/execution-ended"}})
			if err == nil || strings.Contains(err.Error(), "tok3n") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v, want one that says %q and not the token", err, tt.says)
			}
		})
	}
}
