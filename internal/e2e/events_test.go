package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/wire"
)

// Slipway tells what happens, on both hosts the same, and loses nothing when
// it isn't heard at once.
func TestEvents(t *testing.T) {
	t.Parallel()
	t.Run("one machine", func(t *testing.T) {
		t.Parallel()
		hook := &hook{refused: map[string]bool{}}
		server := httptest.NewServer(hook)
		t.Cleanup(server.Close)
		s := e2e.Start(t, wire.ServeConfig{EmbeddedDelegate: true, Tags: []string{"embedded"}, Events: server.URL})
		tells(t, s, hook.events)
	})
	t.Run("AWS", func(t *testing.T) {
		t.Parallel()
		a := e2e.StartAWS(t)
		a.Host.Fail("feed", testaws.Faults{Before: 0.2, After: 0.2, Twice: true})
		tells(t, a.Server, a.Bus.Events)
	})
}

// hook is a webhook that refuses each event when it comes first.
type hook struct {
	mu      sync.Mutex
	refused map[string]bool
	got     []json.RawMessage
}

// ServeHTTP takes an event in (http.Handler).
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var event json.RawMessage
	var e feed.Envelope
	if json.NewDecoder(r.Body).Decode(&event) != nil || json.Unmarshal(event, &e) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if e.Type == feed.StageStarted && !h.refused[e.ID] {
		h.refused[e.ID] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.got = append(h.got, event)
}

func (h *hook) events() []json.RawMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

func tells(t *testing.T, s *e2e.Server, events func() []json.RawMessage) {
	t.Helper()
	s.Apply(t, one("p", shell("ask", "exit 3"),
		", failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: ManualIntervention, spec: {timeout: 1m, onTimeout: {action: {type: Abort}}}}}}]"))
	id := s.Begin(t, "p", nil)
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	// As a program would that answers by events alone.
	until(ctx, t, events, id+" Intervention Waiting ask InterventionWaiting")
	if err := s.Call(ctx, "POST", "/v1/executions/"+id+"/nodes/ask/intervene", map[string]string{"action": "Ignore"}, nil); err != nil {
		t.Fatal(err)
	}
	until(ctx, t, events, id+" Execution Ended  IgnoreFailed")
	want := []string{
		" Entity Saved default ", // the records of the organization and the project
		" Entity Saved default_project ",
		" Entity Saved p ",
		id + " Execution Ended  IgnoreFailed",
		id + " Execution Started  Running",
		id + " Intervention Waiting ask InterventionWaiting",
		id + " Stage Ended always Success",
		id + " Stage Ended s IgnoreFailed",
		id + " Stage Started always Running",
		id + " Stage Started s Running",
		id + " Step Ended after Success",
		id + " Step Ended ask IgnoreFailed",
		id + " Step Started after Running",
		id + " Step Started ask Running",
	}
	got := heard(t, events())
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// until waits until an event has come.
func until(ctx context.Context, t *testing.T, events func() []json.RawMessage, want string) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !slices.Contains(heard(t, events()), want) {
		select {
		case <-ctx.Done():
			t.Fatalf("%q hasn't come; there are %q", want, heard(t, events()))
		case <-tick.C:
		}
	}
}

// heard are the events in a few words, without those that came again, all as
// their schemas say.
func heard(t *testing.T, events []json.RawMessage) []string {
	t.Helper()
	var out []string
	seen := map[string]bool{}
	for _, doc := range events {
		var e feed.Envelope
		if err := json.Unmarshal(doc, &e); err != nil {
			t.Fatal(err)
		}
		if seen[e.Detail.ID] {
			continue
		}
		seen[e.Detail.ID] = true
		asItsSchemaSays(t, e.Type, doc)
		what := ""
		switch d := e.Detail; {
		case d.Step != nil:
			what = d.Step.ID
		case d.Stage != nil:
			what = d.Stage.ID
		case d.Entity != nil:
			what = d.Entity.ID
		}
		out = append(out, e.Detail.Execution+" "+string(e.Type)+" "+what+" "+string(e.Detail.Status))
	}
	return out
}

func asItsSchemaSays(t *testing.T, kind feed.Type, doc []byte) {
	t.Helper()
	file := filepath.Join("../../events", "slipway."+strings.ReplaceAll(strings.ToLower(string(kind)), " ", "-"), "schema.json")
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(string(doc)))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Error(err)
	}
}
