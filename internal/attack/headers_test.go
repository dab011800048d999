package attack_test

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/wire"
)

// Pages of other sites can't read what the API answers, nothing is kept by
// who carries it, and what headers say of the way here is believed by nobody.
func TestOtherSitesGetNothing(t *testing.T) {
	t.Parallel()
	local, err := wire.Open(t.Context(), wire.ServeConfig{Data: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = local.Close(t.Context()) })
	server := local.API()
	for _, method := range []string{"GET", "POST", "OPTIONS"} {
		for _, path := range []string{"/v1/executions", "/v1/tokens", "/v1/approvals/x", "/webhooks/github", "/healthz", "/nothing"} {
			r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader("{}"))
			for name, value := range map[string]string{
				"Origin": "https://evil.example", "Host": "evil.example", "X-Forwarded-Host": "evil.example", "X-Forwarded-For": "127.0.0.1",
				"Access-Control-Request-Method": "POST", "X-Forwarded-Proto": "https", "X-Original-URL": "/healthz", "X-HTTP-Method-Override": "DELETE",
			} {
				r.Header.Set(name, value)
			}
			r.Host = "evil.example"
			w := httptest.NewRecorder()
			server.ServeHTTP(w, r)
			for name, values := range w.Header() {
				if strings.HasPrefix(name, "Access-Control-") || name == "Set-Cookie" || strings.Contains(strings.Join(values, " "), "evil.example") {
					t.Errorf("%s %s: header %s is %q", method, path, name, values)
				}
			}
			if w.Header().Get("X-Content-Type-Options") != "nosniff" || w.Header().Get("Cache-Control") != "no-store" || strings.Contains(w.Body.String(), "evil") {
				t.Errorf("%s %s: headers are %v, the body %s", method, path, w.Header(), w.Body)
			}
			if w.Code < 400 && path != "/healthz" {
				t.Errorf("%s %s: status %d", method, path, w.Code)
			}
		}
	}
}

// Names that are shown to others are of characters that can be seen.
func TestNamesThatCantBeShownAreRefused(t *testing.T) {
	t.Parallel()
	p := newPlane(t, false)
	for _, bad := range []string{`a\nb`, `\u001b[2J`, `\u202e`, `\u0007`, `\u0000`, `a\tb`} {
		for path, body := range map[string]string{
			"/v1/tokens":                `{"kind":"user","name":"` + bad + `"}`,
			"/v1/tokens?org=default":    `{"kind":"user","name":"x","actor":"` + bad + `"}`,
			"/v1/delegate/register":     `{"id":"d2","name":"` + bad + `"}`,
			"/v1/delegate/register?t=1": `{"id":"d2","name":"x","tags":["` + bad + `"]}`,
			"/v1/delegate/register?h=1": `{"id":"d2","name":"x","host":"` + bad + `"}`,
			"/v1/delegate/register?v=1": `{"id":"d2","name":"x","version":"` + bad + `"}`,
		} {
			token := p.admin
			if strings.HasPrefix(path, "/v1/delegate/") {
				token = p.delegate
			}
			p.want(400, "POST", path, body, "Bearer "+token)
		}
	}
}
