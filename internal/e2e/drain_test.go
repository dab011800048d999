package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// A delegate that is told to stop lets its task end, takes no other, and says
// goodbye; the next step waits for another delegate.
func TestADelegateDrains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begun, release := filepath.Join(dir, "begun"), filepath.Join(dir, "release")
	s := client(spawn(t, serveEnv+"="+filepath.Join(dir, "data"), addrEnv+"=127.0.0.1:0"))
	token := delegateToken(t, s)
	first := spawn(t, delegateEnv+"=first", addrEnv+"="+s.URL, tokenEnv+"="+token)
	s.Apply(t, one("p", shell("long", fmt.Sprintf("touch %s; until [ -e %s ]; do sleep 0.05; done", begun, release))+", "+shell("next", "true"), ""))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	exists := func(e2e.Execution) bool { _, err := os.Stat(begun); return err == nil }
	if _, err := s.Until(ctx, id, exists); err != nil {
		t.Fatal(err)
	}
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	stopping := func(e2e.Execution) bool { return strings.Contains(delegates(t, s), `"draining":true`) }
	if _, err := s.Until(ctx, id, stopping); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(release, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("the delegate ended with %v", err)
	}
	e, err := s.Until(ctx, id, func(e e2e.Execution) bool { return e.Root.Find("next").Status == "TaskWaiting" })
	if err != nil || e.Root.Find("long").Status != "Success" {
		t.Fatalf("%v; long is %s, next is %s", err, e.Root.Find("long").Status, e.Root.Find("next").Status)
	}
	if left := delegates(t, s); strings.Contains(left, `"first"`) {
		t.Errorf("the delegate is still there: %s", left)
	}
	spawn(t, delegateEnv+"=second", addrEnv+"="+s.URL, tokenEnv+"="+token)
	if e, err = s.Until(ctx, id, e2e.Ended); err != nil || e.Status != "Success" {
		t.Errorf("%v, the execution is %s: %s", err, e.Status, e.Message)
	}
}

// delegates is the API's list of delegates, as JSON.
func delegates(t *testing.T, s *e2e.Server) string {
	t.Helper()
	var raw jsonText
	if err := s.Call(t.Context(), "GET", "/v1/delegates", nil, &raw); err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// jsonText is JSON as it came.
type jsonText []byte

// UnmarshalJSON keeps the text.
func (j *jsonText) UnmarshalJSON(b []byte) error {
	*j = append((*j)[:0], b...)
	return nil
}

// A step that writes too much has its log cut, with a mark; its end is kept,
// and the step goes on.
func TestALogThatIsTooLong(t *testing.T) {
	t.Parallel()
	s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true})
	s.Apply(t, one("p", shell("talk", `head -c 32000000 /dev/zero | tr "\\0" x | fold -w 4000; echo; echo the end`), ""))
	e := run(t, s, "p", "Success", nil)
	size, from, mark, end := 0, int64(0), false, false
	for {
		var part struct {
			Lines []struct {
				Text string `json:"m"`
			} `json:"lines"`
			Next  int64 `json:"next"`
			Ended bool  `json:"ended"`
		}
		if err := s.Call(t.Context(), "GET", fmt.Sprintf("/v1/executions/%s/nodes/%s/log?from=%d", e.ID, e.Root.Find("talk").ID, from), nil, &part); err != nil {
			t.Fatal(err)
		}
		for _, l := range part.Lines {
			size += len(l.Text)
			mark = mark || strings.Contains(l.Text, "over 25 MB")
			end = end || l.Text == "the end"
		}
		if from = part.Next; part.Ended {
			break
		}
	}
	if size < 20<<20 || size > 25<<20 || !mark || !end {
		t.Errorf("the log has %d bytes, a mark where it was cut: %t, its end: %t", size, mark, end)
	}
}

// One trace of each execution goes where the environment says.
func TestAnExecutionIsATrace(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	spans := map[string]string{} // name -> name of its parent
	ids := map[string]string{}
	traces := map[string]bool{}
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var in collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &in); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, rs := range in.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					ids[string(s.SpanId)] = s.Name
					spans[s.Name] = string(s.ParentSpanId)
					traces[string(s.TraceId)] = true
				}
			}
		}
	}))
	t.Cleanup(receiver.Close)
	p := spawn(t, serveEnv+"="+t.TempDir(), addrEnv+"=127.0.0.1:0", delegateEnv+"=embedded", "OTEL_EXPORTER_OTLP_ENDPOINT="+receiver.URL)
	s := client(p)
	s.Apply(t, one("p", shell("a", "true")+", "+shell("b", "true"), ""))
	run(t, s, "p", "Success", nil)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil { // what hasn't been sent is sent
		t.Errorf("serve ended with %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	got := map[string]string{}
	for name, parent := range spans {
		got[name] = ids[parent]
	}
	want := map[string]string{
		"RUN p": "", "stage s": "RUN p", "step a": "stage s", "step b": "stage s", "stage always": "RUN p", "step after": "stage always",
	}
	if diff := cmp.Diff(want, got); diff != "" || len(traces) != 1 {
		t.Errorf("%d traces; spans and their parents (-want +got):\n%s", len(traces), diff)
	}
}
