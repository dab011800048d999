package webhook_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
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
