package chaos_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/slipway-cd/slipway/internal/chaos"
)

// What is lost has happened, what is doubled happens twice, and what comes
// after either is answered.
func TestTheNetworkFailsAsItIsTold(t *testing.T) {
	t.Parallel()
	var heard atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard.Add(1)
		_, _ = io.Copy(w, r.Body) // the client's check fails if it can't
	}))
	t.Cleanup(server.Close)
	n := chaos.NewNetwork(t, server.URL)
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() bool {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.URL, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := fresh.Do(req)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		return err == nil && string(got) == "hello"
	}
	for _, step := range []struct {
		name  string
		fail  func()
		good  bool
		heard int32
	}{
		{"nothing is wrong", func() {}, true, 1},
		{"an answer is lost", func() { n.Lose(1) }, false, 2},
		{"and no other", func() {}, true, 3},
		{"a request is doubled", func() { n.Double(1) }, true, 5},
		{"connections are cut", n.Cut, true, 6},
		{"the server has gone", server.Close, false, 6},
	} {
		step.fail()
		if good := ask(); good != step.good || heard.Load() != step.heard {
			t.Errorf("%s: answered %v, heard %d; want %v, %d", step.name, good, heard.Load(), step.good, step.heard)
		}
	}
}
