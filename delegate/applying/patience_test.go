package applying

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// cutting keeps objects and breaks off the first answer to each request.
type cutting struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	seen    map[string]bool
	status  int // instead of an answer that breaks off; 0: none
	text    string
}

// ServeHTTP does what is asked for, and doesn't tell at the first time.
func (c *cutting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status, doc := c.do(r)
	if key := r.Method + r.URL.Path; !c.seen[key] {
		c.seen[key] = true
		if c.status != 0 {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.text)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(doc)+100))
		w.WriteHeader(status)
		_, _ = w.Write(doc)
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
	_, _ = w.Write(doc)
}

func (c *cutting) do(r *http.Request) (int, []byte) {
	var sent map[string]any
	_ = json.NewDecoder(r.Body).Decode(&sent)
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path = "/" + sent["metadata"].(map[string]any)["name"].(string)
	}
	live := c.objects[path]
	switch {
	case r.Method == http.MethodPost && live != nil:
		return http.StatusConflict, []byte(`{"reason":"AlreadyExists"}`)
	case r.Method == http.MethodPut && live["metadata"].(map[string]any)["resourceVersion"] != sent["metadata"].(map[string]any)["resourceVersion"]:
		return http.StatusConflict, []byte(`{"reason":"Conflict"}`)
	case r.Method == http.MethodPost || r.Method == http.MethodPut:
		meta := sent["metadata"].(map[string]any)
		meta["resourceVersion"] = fmt.Sprint(meta["resourceVersion"]) + "+"
		c.objects[path] = sent
		live = sent
	case live == nil:
		return http.StatusNotFound, []byte(`{"reason":"NotFound"}`)
	case r.Method == http.MethodDelete:
		delete(c.objects, path)
	}
	doc, _ := json.Marshal(live)
	return http.StatusOK, doc
}

// An answer that is cut off, or lost with the leader of the cluster's store, is
// as if it had come: what was done once is done, and is no conflict.
func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel()
	for _, lost := range []struct {
		status int
		text   string
	}{{}, {500, `{"message":"etcdserver: leader changed"}`}, {504, ""}, {502, ""}} {
		for _, tt := range []struct {
			method, path, body string
			want               int
		}{
			{http.MethodGet, "/old", "", 200},
			{http.MethodGet, "/none", "", 404},
			{http.MethodPost, "/", `{"metadata":{"name":"new"},"data":{"a":"b"}}`, 201},
			{http.MethodPost, "/", `{"metadata":{"name":"old"},"data":{"a":"another"}}`, 409},
			{http.MethodPut, "/old", `{"metadata":{"name":"old","resourceVersion":"1"},"data":{"a":"c"}}`, 200},
			{http.MethodPut, "/old", `{"metadata":{"name":"old","resourceVersion":"0"},"data":{"a":"c"}}`, 409},
			{http.MethodDelete, "/old", "", 200},
		} {
			t.Run(fmt.Sprint(lost.status, tt.method, tt.path, tt.want), func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(&cutting{status: lost.status, text: lost.text, seen: map[string]bool{}, objects: map[string]map[string]any{
					"/old": {"metadata": map[string]any{"name": "old", "resourceVersion": "1"}, "data": map[string]any{"a": "b"}},
				}})
				defer server.Close()
				heard := new(atomic.Bool)
				heard.Store(true)
				req, err := http.NewRequestWithContext(t.Context(), tt.method, server.URL+tt.path, strings.NewReader(tt.body))
				check(t, err)
				resp, err := patient{http.DefaultTransport, heard}.RoundTrip(req)
				check(t, err)
				doc, err := io.ReadAll(resp.Body)
				check(t, err)
				check(t, resp.Body.Close())
				if got := resp.StatusCode; got != tt.want && (got != 200 || tt.want != 201) {
					t.Errorf("got %d: %s; want %d", got, doc, tt.want)
				}
			})
		}
	}
}

func TestAnOverloadedServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]int{"0": http.StatusOK, "": http.StatusTooManyRequests} {
		var asked atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) == 1 {
				if after != "" {
					w.Header().Set("Retry-After", after)
				}
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}))
		defer server.Close()
		heard := new(atomic.Bool)
		heard.Store(true)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, server.URL, strings.NewReader("{}"))
		check(t, err)
		req.Header.Set("Content-Type", "application/json-patch+json")
		resp, err := patient{http.DefaultTransport, heard}.RoundTrip(req)
		check(t, err)
		check(t, resp.Body.Close())
		if resp.StatusCode != want {
			t.Errorf("Retry-After %q: got %d; want %d", after, resp.StatusCode, want)
		}
	}
}

// A server that has answered before is waited for; one that never has isn't.
func TestPatience(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		heard  bool
		method string
		kind   string
		away   time.Duration
		same   bool // whether it writes the same each time is said
		tries  bool
	}{
		{"away for ten seconds", true, http.MethodPatch, "application/apply-patch+yaml", 10 * time.Second, false, true},
		{"away for good", true, http.MethodGet, "", time.Hour, false, false},
		{"never heard of", false, http.MethodGet, "", 10 * time.Second, false, false},
		{"may have been done", true, http.MethodPatch, "application/json-patch+json", 10 * time.Second, false, false},
		{"comes to the same", true, http.MethodPatch, "application/json-patch+json", 10 * time.Second, true, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began, heard := time.Now(), new(atomic.Bool)
				heard.Store(tt.heard)
				p := patient{sends(func(req *http.Request) (*http.Response, error) {
					if body, err := req.GetBody(); err != nil || body == nil {
						t.Errorf("the body is %v, %v", body, err)
					}
					if time.Since(began) < tt.away {
						return nil, fmt.Errorf("connection reset")
					}
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
				}), heard}
				ctx := t.Context()
				if tt.same {
					ctx = Repeatable(ctx)
				}
				req, err := http.NewRequestWithContext(ctx, tt.method, "http://cluster", strings.NewReader("x"))
				check(t, err)
				req.Header.Set("Content-Type", tt.kind)
				resp, err := p.RoundTrip(req)
				if (err == nil) != tt.tries {
					t.Errorf("after %s: %v, %v", time.Since(began), resp, err)
				}
				if resp != nil {
					check(t, resp.Body.Close())
				}
				if waited := time.Since(began); waited > Outage || !tt.heard && waited > 0 {
					t.Errorf("it took %s", waited)
				}
			})
		})
	}
}

// sends is a transport.
type sends func(*http.Request) (*http.Response, error)

func (f sends) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
