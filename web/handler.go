package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"
)

// policy is what the pages may do, but where they may connect to: they have no code,
// style or data but this server's. Nothing in them makes markup of texts, and no browser lets it; the
// policy slipway lets the studio's worker alone become a script.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; worker-src 'self'; " +
	"manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types slipway"

// others are paths that aren't the console's, whoever asks for them.
func others() []string {
	return []string{"/v1/", "/webhooks/", "/schema/", "/oidc/", "/scim/", "/gateway/", "/healthz", "/openapi.json"}
}

// Handler gives the console's pages to browsers, and all else to next.
//
// A page's path is known to its program alone, so every path of which a browser
// wants a page gets the same one.
func Handler(next http.Handler) http.Handler { return handler(files(), "", next) }

// With is Handler where pages hear what changes over a WebSocket API of another host, of
// which endpoint is the https://... URL; empty: there is none.
func With(endpoint string, next http.Handler) (http.Handler, error) {
	socket, err := socketOf(endpoint)
	return handler(files(), socket, next), err
}

// socketOf is the origin of a WebSocket API as browsers know it, e.g. wss://h for https://h/prod.
func socketOf(endpoint string) (string, error) {
	if endpoint == "" {
		return "", nil
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, "; ,'*") {
		return "", fmt.Errorf("the WebSocket API's endpoint is %q; want https://HOST/STAGE", endpoint)
	}
	return strings.Replace(u.Scheme, "http", "ws", 1) + "://" + u.Host, nil
}

// handler gives files, whose pages may connect to their own host and to another one.
func handler(files fs.FS, socket string, next http.Handler) http.Handler {
	connect := strings.TrimSpace("; connect-src 'self' " + socket)
	send := func(w http.ResponseWriter, r *http.Request, files fs.FS, name string) bool {
		return send(w, r, files, name, policy+connect)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(path.Clean(r.URL.Path), "/")
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case strings.HasPrefix(name, "assets/"):
			if !send(w, r, files, name) {
				w.Header().Set("Cache-Control", "no-store") // that of another release, perhaps
				http.NotFound(w, r)
			}
		case name == "theme.js" || name == "favicon.svg":
			if !send(w, r, files, name) {
				next.ServeHTTP(w, r)
			}
		case ofPage(r) && send(w, r, files, "index.html"):
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// ofPage says whether a browser wants a page of the console.
func ofPage(r *http.Request) bool {
	for _, prefix := range others() {
		if strings.HasPrefix(r.URL.Path, prefix) {
			return false
		}
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// packed are the forms that files are kept in besides their own.
func packed() [][2]string { return [][2]string{{"br", ".br"}, {"gzip", ".gz"}} }

// send answers with a file, as the browser can best take it; false: there is none.
func send(w http.ResponseWriter, r *http.Request, files fs.FS, name, csp string) bool {
	text, err := fs.ReadFile(files, name)
	if err != nil || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") {
		return false
	}
	h := w.Header()
	protect(h, r, csp)
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Cache-Control", "no-cache")
	if strings.HasPrefix(name, "assets/") { // their names have a hash
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	sum := sha256.Sum256(text)
	tag := `"` + hex.EncodeToString(sum[:12]) + `"`
	h.Set("ETag", tag)
	h.Set("Vary", "Accept-Encoding, Accept")
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return true
	}
	for _, form := range packed() {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), form[0]) {
			continue
		}
		if small, err := fs.ReadFile(files, name+form[1]); err == nil {
			h.Set("Content-Encoding", form[0])
			text = small
			break
		}
	}
	if r.Method != http.MethodHead {
		_, _ = w.Write(text) //nolint:gosec // a file of this program; the browser has gone
	}
	return true
}

// protect sets the headers that bound what a page may do and who may use it.
func protect(h http.Header, r *http.Request, csp string) {
	if r.TLS != nil {
		csp += "; upgrade-insecure-requests"
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	h.Set("Content-Security-Policy", csp)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=(), clipboard-read=()")
}
