package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// site is a console of a few bytes.
func site() fstest.MapFS {
	return fstest.MapFS{
		"index.html": {Data: []byte("<!doctype html>the console")}, "theme.js": {Data: []byte("theme")},
		"assets/a-1f.js": {Data: []byte("plain")}, "assets/a-1f.js.br": {Data: []byte("brotli")}, "assets/a-1f.js.gz": {Data: []byte("gzip")},
	}
}

func TestWhatBrowsersAndProgramsGet(t *testing.T) {
	t.Parallel()
	h := handler(site(), "", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the API")) }))
	const html, year = "text/html,application/xhtml+xml", "public, max-age=31536000, immutable"
	for _, c := range []struct {
		method, path, accept, encoding string
		status                         int
		body, cache, encoded           string
	}{
		{"GET", "/", html, "", 200, "<!doctype html>the console", "no-cache", ""},
		{"GET", "/o/a/p/b/executions?status=Failed", html, "gzip", 200, "<!doctype html>the console", "no-cache", ""},
		{"HEAD", "/x/e1", html, "", 200, "", "no-cache", ""},
		{"GET", "/theme.js", "*/*", "", 200, "theme", "no-cache", ""},
		{"GET", "/assets/a-1f.js", "*/*", "gzip, deflate, br", 200, "brotli", year, "br"},
		{"GET", "/assets/a-1f.js", "*/*", "gzip", 200, "gzip", year, "gzip"},
		{"GET", "/assets/a-1f.js", "*/*", "", 200, "plain", year, ""},
		{"GET", "/assets/../assets/a-1f.js", "*/*", "", 200, "plain", year, ""},
		{"GET", "/assets/b-2f.js", html, "", 404, "404 page not found\n", "no-store", ""},
		{"GET", "/assets/a-1f.js.br", "*/*", "", 404, "404 page not found\n", "no-store", ""},
		{"GET", "/v1/nothing", html, "", 200, "the API", "", ""},
		{"GET", "/webhooks/x", html, "", 200, "the API", "", ""},
		{"GET", "/schema/pipeline.json", html, "", 200, "the API", "", ""},
		{"GET", "/oidc/account/default/jwks", html, "", 200, "the API", "", ""},
		{"GET", "/scim/v2/default/Users", html, "", 200, "the API", "", ""},
		{"GET", "/gateway/ng/api/scim/account/default/Users", html, "", 200, "the API", "", ""},
		{"GET", "/healthz", html, "", 200, "the API", "", ""},
		{"GET", "/openapi.json", html, "", 200, "the API", "", ""},
		{"GET", "/o/a/p/b/executions", "application/json", "", 200, "the API", "", ""},
		{"POST", "/", html, "", 200, "the API", "", ""},
		{"GET", "/favicon.svg", "*/*", "", 200, "the API", "", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Accept-Encoding", c.encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Cache-Control") != c.cache || w.Header().Get("Content-Encoding") != c.encoded {
			t.Errorf("%s %s (%s, %q): %d %q %v", c.method, c.path, c.accept, c.encoding, w.Code, w.Body, w.Header())
		}
		if c.status != 200 || c.body == "the API" {
			continue
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; style-src 'self';") || strings.Contains(policy, "unsafe") || w.Header().Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s %s isn't bounded: %v", c.method, c.path, w.Header())
		}
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		again := httptest.NewRecorder()
		h.ServeHTTP(again, r)
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s %s again: %d %q", c.method, c.path, again.Code, again.Body)
		}
	}
}

// The program is whole without Node, too: then its one page says how to get the console.
func TestThereIsAPage(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	r.Header.Set("Accept", "text/html")
	w := httptest.NewRecorder()
	Handler(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != 200 || Built == strings.Contains(w.Body.String(), "make build") {
		t.Errorf("built: %v; the page is %d %s", Built, w.Code, w.Body)
	}
}

// Pages may connect to their own host, and to the WebSocket that the server was told of alone.
func TestWherePagesMayConnectTo(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"":                               "connect-src 'self'",
		"https://a1.execute-api.eu/prod": "connect-src 'self' wss://a1.execute-api.eu",
		"http://127.0.0.1:8000/test":     "connect-src 'self' ws://127.0.0.1:8000",
		"a1.execute-api.eu":              "",
		"ftp://a1.execute-api.eu":        "",
		"https://*/prod":                 "",
		"https://x; script-src y/":       "",
		"https://x script-src y/":        "",
	} {
		h, err := With(endpoint, http.NotFoundHandler())
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", endpoint, err)
		}
		if err != nil {
			continue
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		var got string
		for _, part := range strings.Split(w.Header().Get("Content-Security-Policy"), "; ") {
			if strings.HasPrefix(part, "connect-src") {
				got = part
			}
		}
		if got != want {
			t.Errorf("%q: %s, want %s", endpoint, got, want)
		}
	}
}
