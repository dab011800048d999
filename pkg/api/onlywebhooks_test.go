package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/api"
)

// A function that takes in deliveries must not open the rest of the API.
func TestWebhooksAreAllOfTheirServer(t *testing.T) {
	t.Parallel()
	cfg := setup(t).cfg
	all, webhooks := api.New(cfg), api.NewWebhooks(cfg)
	for _, c := range []struct {
		name         string
		server       http.Handler
		method, path string
		want         int
	}{
		{"the API lives", all, "GET", "/healthz", http.StatusNoContent},
		{"webhooks live", webhooks, "GET", "/healthz", http.StatusNoContent},
		{"the API has its description", all, "GET", "/openapi.json", http.StatusUnauthorized},
		{"the API takes deliveries in", all, "POST", "/webhooks/github", http.StatusUnauthorized},
		{"webhooks take deliveries in", webhooks, "POST", "/webhooks/github", http.StatusUnauthorized},
		{"a delivery is posted", webhooks, "GET", "/webhooks/github", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		c.server.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader("{}")))
		if w.Code != c.want {
			t.Errorf("%s: %s %s gives %d, want %d: %s", c.name, c.method, c.path, w.Code, c.want, w.Body)
		}
	}
}
