package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A webhook is told once of each event that a rule asks for, on both hosts,
// with its secrets in place (semantics/pipeline §10).
func TestNotifications(t *testing.T) {
	t.Parallel()
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		notifies(t, e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true}), startListener(t, net.IPv4(127, 0, 0, 1)))
	})
	t.Run("AWS", func(t *testing.T) {
		t.Parallel()
		l := startListener(t, outside(t)) // functions reach nothing on loopback
		a := e2e.StartAWS(t)
		a.Host.Fail("notify", testaws.Faults{After: 0.3, Twice: true})
		notifies(t, a.Server, l)
		compareRights(t, "notify", a.Calls.Calls("notify"), a.Rights("notify"))
	})
}

// outside is an address of this machine that isn't loopback.
func outside(t *testing.T) net.IP {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP
		}
	}
	t.Skip("this machine has no address but loopback")
	return nil
}

// listener is a webhook that fails each message once before it takes it.
type listener struct {
	URL    string
	mu     sync.Mutex
	failed map[string]bool
	got    []string
}

func startListener(t *testing.T, ip net.IP) *listener {
	t.Helper()
	l := &listener{failed: map[string]bool{}}
	server := httptest.NewUnstartedServer(l)
	at, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close() // another one takes its place
	server.Listener = at
	server.Start()
	t.Cleanup(server.Close)
	l.URL = server.URL
	return l
}

// ServeHTTP takes a message in (http.Handler).
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		EventData struct{ EventType, PlanExecutionID, StageIdentifier, NodeStatus string }
	}
	if r.Header.Get("X-Token") != "s3cr3t-value" || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e := m.EventData
	line := strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.PlanExecutionID, e.EventType, e.NodeStatus, e.StageIdentifier+r.URL.Query().Get("s")))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.failed[line] {
		l.failed[line] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.got = append(l.got, line)
}

func (l *listener) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(slices.Values(l.got))
}

// A server that is killed while it sends a message sends it when it is back.
func TestAKilledServerSendsItsNotifications(t *testing.T) {
	t.Parallel()
	asked := make(chan struct{}, 10)
	var mu sync.Mutex
	var taken []string
	dead := false
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now := dead
		if now {
			taken = append(taken, r.URL.Path)
		}
		mu.Unlock()
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, r.Body) // only then it is seen that the other side has gone
		if !now {
			<-r.Context().Done() // the server dies meanwhile
		}
	}))
	t.Cleanup(hook.Close)
	data, addr := filepath.Join(t.TempDir(), "data"), freeAddr(t)
	serve := func() *process { return spawn(t, serveEnv+"="+data, addrEnv+"="+addr, delegateEnv+"=embedded") }
	wait := func() {
		select {
		case <-asked:
		case <-time.After(e2e.Patience):
			t.Fatal("no message has come")
		}
	}
	p := serve()
	s := client(p)
	rule := fmt.Sprintf("pipeline: {notificationRules: [{identifier: r, pipelineEvents: [{type: PipelineEnd}], notificationMethod: {type: Slack, spec: {webhookUrl: '%s/end'}}}], ", hook.URL)
	s.Apply(t, strings.Replace(one("p", shell("a", "true"), ""), "pipeline: {", rule, 1))
	run(t, s, "p", "Success", nil)
	wait()
	p.kill()
	mu.Lock()
	dead = true
	mu.Unlock()
	serve()
	wait()
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"/end"}, taken); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func notifies(t *testing.T, s *e2e.Server, l *listener) {
	t.Helper()
	s.Apply(t, secretYAML)
	rules := fmt.Sprintf(`pipeline: {notificationRules: [
  {identifier: web, pipelineEvents: [{type: PipelineSuccess}, {type: StageFailed, forStages: [s]}],
   notificationMethod: {type: Webhook, spec: {webhookUrl: '%s/hook', headers: {X-Token: '<+secrets.getValue("token")>'}}}},
  {identifier: last, pipelineEvents: [{type: PipelineFailed}], notificationMethod: {type: Webhook, spec: {webhookUrl: '%s/last?s=<+pipeline.stages.s.status>', headers: {X-Token: '<+secrets.getValue("token")>'}}}}], `, l.URL, l.URL)
	s.Apply(t, strings.Replace(one("good", shell("a", "true"), ""), "pipeline: {", rules, 1))
	s.Apply(t, strings.Replace(one("bad", shell("a", "exit 3"), ""), "pipeline: {", rules, 1))
	good, bad := run(t, s, "good", "Success", nil), run(t, s, "bad", "Failed", nil)
	want := []string{good.ID + " PipelineSuccess completed", bad.ID + " StageFailed failed s", bad.ID + " PipelineFailed failed FAILED"}
	slices.Sort(want)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for len(l.lines()) < len(want) {
		select {
		case <-ctx.Done():
			t.Fatalf("got %q, want %q", l.lines(), want)
		case <-tick.C:
		}
	}
	// What is sent twice is sent before the event is done with, and an
	// execution that comes later is told of later.
	after := run(t, s, "good", "Success", nil)
	want = append(want, after.ID+" PipelineSuccess completed")
	slices.Sort(want)
	for len(l.lines()) < len(want) {
		select {
		case <-ctx.Done():
			t.Fatalf("got %q, want %q", l.lines(), want)
		case <-tick.C:
		}
	}
	if diff := cmp.Diff(want, l.lines()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}
