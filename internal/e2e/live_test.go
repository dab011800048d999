package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/live"
)

// browserPage is a page of the console in a browser that somebody has logged in.
type browserPage struct {
	t       *testing.T
	a       *e2e.AWS
	browser *http.Client
}

func openPage(t *testing.T, a *e2e.AWS) *browserPage {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &browserPage{t, a, &http.Client{Jar: jar}}
	p.post("/v1/login/token", fmt.Sprintf(`{"token":%q}`, a.Token), http.StatusOK, nil)
	return p
}

// post sends what the console does.
func (p *browserPage) post(path, body string, want int, into any) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.a.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Slipway-Console", "1")
	r.Header.Set("Origin", p.a.URL)
	resp, err := p.browser.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != want {
		p.t.Fatalf("%s: %d, want %d", path, resp.StatusCode, want)
	}
	if into != nil {
		if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
			p.t.Fatal(err)
		}
	}
}

// ticket is where a page may connect.
func (p *browserPage) ticket(query string) string {
	p.t.Helper()
	var got struct{ URL, Ticket string }
	p.post("/v1/live/tickets"+query, "", http.StatusOK, &got)
	return got.URL + "?ticket=" + got.Ticket
}

// dial connects as a page of an origin does; the status is that of a refusal.
func dial(t *testing.T, url, origin string) (*websocket.Conn, int) {
	t.Helper()
	conn, resp, err := websocket.Dial(t.Context(), url, &websocket.DialOptions{HTTPHeader: http.Header{"Origin": {origin}}})
	if resp != nil && resp.Body != nil {
		_ = resp.Body.Close()
	}
	if err != nil {
		if resp == nil {
			t.Fatal(err)
		}
		return nil, resp.StatusCode
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn, 0
}

// hears reads hints until one is wanted.
func hears(t *testing.T, conn *websocket.Conn, wanted func(live.Hint) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		_, doc, err := conn.Read(ctx)
		if err != nil {
			t.Fatalf("the page has heard nothing more: %v", err)
		}
		var h live.Hint
		if err := json.Unmarshal(doc, &h); err != nil {
			t.Fatalf("%s: %v", doc, err)
		}
		if wanted(h) {
			return
		}
	}
}

// countHints is what docs/cost.md says of a page: for each batch of changes it hears one
// hint at most, and who tells it reads its token and the executions that have changed.
func countHints(t *testing.T, a *e2e.AWS, p *browserPage) {
	t.Helper()
	a.Apply(t, steps("ten", 10, "# nothing"))
	run := func(pages int) (batches, hints int, reads float64) {
		invoked, spent := a.Host.Usage("feed").Invocations, a.Calls.Spent("feed")
		conns := make([]*websocket.Conn, pages)
		for i := range conns {
			conns[i], _ = dial(t, p.ticket("?org=default&project=default_project"), a.URL)
		}
		id := a.Begin(t, "ten", nil)
		if e, err := a.Every(t.Context(), 2*time.Second, id, e2e.Ended); err != nil || e.Status != "Success" {
			t.Fatalf("%v, the execution is %s", err, e.Status)
		}
		for _, conn := range conns {
			hears(t, conn, func(h live.Hint) bool { return slices.Contains(h.Executions, id) })
			_ = conn.CloseNow()
		}
		// Only hints of this execution: what came before it may still be told.
		return a.Host.Usage("feed").Invocations - invoked, a.Sockets.Posted(`"executions":["` + id), a.Calls.Spent("feed").Reads - spent.Reads
	}
	batches, hints, reads := run(0)
	t.Logf("ten steps with no page: %d batches, %d hints, %.1f read units of the feed", batches, hints, reads)
	if hints != 0 {
		t.Errorf("%d hints that nobody hears", hints)
	}
	batches, hints, reads = run(3)
	t.Logf("ten steps with three pages of a session: %d batches, %d hints, %.1f read units of the feed", batches, hints, reads)
	if hints > 3*batches || reads > float64(8*batches+20) {
		t.Errorf("%d hints and %.1f read units for %d batches; want one hint for each page and batch at most, and 8 read units", hints, reads, batches)
	}
}

// On AWS pages hear over the WebSocket API which executions change: those of their
// scope, or the one that they show. A ticket lets one connection in, of the page's own
// origin, and with the session hints end.
func TestPagesHearOfExecutionsOnAWS(t *testing.T) {
	t.Parallel()
	a := e2e.StartAWS(t)
	p := openPage(t, a)
	a.Apply(t, one("waits", shell("long", "sleep 600"), ""))
	a.Apply(t, one("quick", shell("a", "echo a"), ""))

	ofProject := p.ticket("?org=default&project=default_project")
	if _, status := dial(t, ofProject, "https://evil.example.com"); status != http.StatusForbidden {
		t.Errorf("a page of another origin: %d, want 403", status)
	}
	here, status := dial(t, ofProject, a.URL)
	if here == nil {
		t.Fatalf("the page isn't let in: %d", status)
	}
	if _, status := dial(t, ofProject, a.URL); status != http.StatusForbidden {
		t.Errorf("a ticket that was taken: %d, want 403", status)
	}
	if _, status := dial(t, ofProject[:strings.Index(ofProject, "=")+1]+"guess", a.URL); status != http.StatusForbidden {
		t.Errorf("a guess: %d, want 403", status)
	}

	id := a.Begin(t, "waits", nil)
	hears(t, here, func(h live.Hint) bool { return slices.Equal(h.Executions, []string{id}) })
	its, _ := dial(t, p.ticket("?org=default&project=default_project&execution="+id), a.URL)
	other := a.Begin(t, "quick", nil)
	hears(t, here, func(h live.Hint) bool { return slices.Contains(h.Executions, other) })
	p.post("/v1/executions/"+id+"/abort", "", http.StatusOK, nil)
	hears(t, its, func(h live.Hint) bool {
		if !slices.Equal(h.Executions, []string{id}) {
			t.Errorf("the page of %s hears %+v", id, h)
		}
		return true
	})

	alone, _ := dial(t, p.ticket("?org=default&project=default_project"), a.URL)
	p.post("/v1/logout", "", http.StatusNoContent, nil)
	last := a.Begin(t, "quick", nil)
	for _, conn := range []*websocket.Conn{here, alone} {
		hears(t, conn, func(h live.Hint) bool {
			if slices.Contains(h.Executions, last) {
				t.Errorf("after the log-out a page hears %+v", h)
			}
			return h.Bye
		})
	}
	p = openPage(t, a)
	countHints(t, a, p)
	a.Sockets.Drop()
	for left := 1; left > 0; {
		all, err := a.Store.Viewers.Viewers(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		left = len(all)
	}
}
