package e2e_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/api"
)

// answered is what a browser gets.
type answered struct {
	status int
	header http.Header
	text   string
}

// On AWS pages come from a function of their own, at the API's address, and nothing
// that programs read of the API does. A session opens there, and what nobody follows
// says when to look again.
func TestConsoleOnAWS(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	ask := func(method, path, accept, body string) answered {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, a.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", accept)
		if method != http.MethodGet {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("X-Slipway-Console", "1")
			r.Header.Set("Origin", a.URL)
		}
		resp, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answered{resp.StatusCode, resp.Header, string(text)}
	}
	const html = "text/html,application/xhtml+xml"
	for _, path := range []string{"/", "/login?next=%2F", "/o/acme/p/shop/executions", "/x/x1"} {
		got := ask(http.MethodGet, path, html, "")
		policy := got.header.Get("Content-Security-Policy")
		if got.status != http.StatusOK || !strings.HasPrefix(got.text, "<!doctype html>") || !strings.Contains(policy, "upgrade-insecure-requests") || got.header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: %d %v %.60q", path, got.status, got.header, got.text)
		}
	}
	if got := ask(http.MethodPost, "/v1/login/token", "application/json", `{"token":"`+a.Token+`"}`); got.status != http.StatusOK {
		t.Fatalf("log in: %d %s", got.status, got.text)
	}
	at, err := url.Parse(a.URL)
	if err != nil || len(jar.Cookies(at)) != 1 {
		t.Fatalf("the cookies are %v: %v", jar.Cookies(at), err)
	}
	if got := ask(http.MethodGet, "/v1/whoami", "application/json", ""); got.status != http.StatusOK || !strings.Contains(got.text, "admin") {
		t.Errorf("who am I: %d %s", got.status, got.text)
	}
	got := ask(http.MethodGet, "/openapi.json", html, "")
	var described struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(got.text), &described); err != nil || len(described.Paths) < 100 {
		t.Fatalf("/openapi.json: %d, %d paths: %v", got.status, len(described.Paths), err)
	}
	for path, operations := range described.Paths {
		if operations["get"] == nil {
			continue
		}
		if got := ask(http.MethodGet, path, html, ""); strings.Contains(got.header.Get("Content-Type"), "html") || strings.HasPrefix(got.text, "404 page not found") {
			t.Errorf("%s is answered by the console: %d %.60q", path, got.status, got.text)
		}
	}

	a.Apply(t, one("asks", shell("long", "sleep 600"), ""))
	id := a.Begin(t, "asks", nil)
	if got := ask(http.MethodGet, "/v1/executions/"+id+"/events", "text/event-stream", ""); !strings.Contains(got.text, "event: "+api.EventTree+"\n") || !strings.Contains(got.text, "event: poll\ndata: {\"seconds\":3}\n") {
		t.Errorf("the stream: %d %s", got.status, got.text)
	}
	if got := ask(http.MethodPost, "/v1/executions/"+id+"/abort", "application/json", ""); got.status != http.StatusOK {
		t.Errorf("abort: %d %s", got.status, got.text)
	}
}
