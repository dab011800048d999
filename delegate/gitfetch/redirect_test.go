package gitfetch_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// TestPasswordsDontFollowRedirects: what is fetched may lie elsewhere, but the
// password is for the host of the connector.
func TestPasswordsDontFollowRedirects(t *testing.T) {
	t.Parallel()
	there := newHost(t, "")
	want := there.commit(t, "moved")
	to, err := url.Parse(there.url)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	var told atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(to)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			told.Add(1)
			r.Header.Del("Authorization")
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(elsewhere.Close)
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); given != "hunter2" {
			w.Header().Set("WWW-Authenticate", "Basic")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, elsewhere.URL+r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(here.Close)
	g := task.Git{URL: here.URL + "/app.git", Branch: "main", Password: "hunter2", Paths: []string{"app.yaml"}}
	got, err := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}).Fetch(t.Context(), g, "s")
	if err != nil {
		t.Fatal(err)
	}
	if got.Commit != want || read(t, got) != "moved" {
		t.Errorf("got commit %s with %q, want %s", got.Commit, read(t, got), want)
	}
	if n := told.Load(); n > 0 {
		t.Errorf("the other host was told the password %d times", n)
	}
}

// TestARepositoryMovesOnItsHost: hosts redirect to the name with ".git", and
// from an old name to the new one.
func TestARepositoryMovesOnItsHost(t *testing.T) {
	t.Parallel()
	h := newHost(t, "hunter2")
	want := h.commit(t, "renamed")
	to, err := url.Parse(h.url)
	if err != nil {
		t.Fatal(err)
	}
	to.Path = ""
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, old := strings.CutPrefix(r.URL.RequestURI(), "/old/"); old {
			http.Redirect(w, r, "/"+strings.Replace(path, "app", "app.git", 1), http.StatusMovedPermanently)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	g := task.Git{URL: front.URL + "/old/app", Branch: "main", Password: "hunter2", Paths: []string{"app.yaml"}}
	for _, g.Commit = range []string{"", want} {
		got, err := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}).Fetch(t.Context(), g, "s")
		if err != nil {
			t.Fatal(err)
		}
		if got.Commit != want || read(t, got) != "renamed" {
			t.Errorf("got commit %s with %q, want %s", got.Commit, read(t, got), want)
		}
	}
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.RequestURI(), http.StatusFound)
	}))
	t.Cleanup(loop.Close)
	g.URL = loop.URL + "/app"
	if _, err := gitfetch.New(t.TempDir(), gitfetch.HostKeys{}).Fetch(t.Context(), g, "s"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a host that redirects to itself: %v", err)
	}
}
