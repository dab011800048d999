package testaws

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Bus is EventBridge as far as PutEvents goes: it checks what it is given as
// AWS does, keeps it, and delivers it by the host's rules.
type Bus struct {
	URL string

	host   *Host
	mu     sync.Mutex
	events []json.RawMessage
}

// NewBus starts one for the test's time.
func NewBus(tb testing.TB, host *Host) *Bus {
	tb.Helper()
	b := &Bus{host: host}
	server := httptest.NewServer(http.HandlerFunc(b.put))
	tb.Cleanup(server.Close)
	b.URL = server.URL
	return b
}

// Events are those that were put, as targets get them.
func (b *Bus) Events() []json.RawMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.events)
}

type entry struct {
	Source, DetailType, Detail, EventBusName string
	Time                                     float64
}

// put is PutEvents.
// https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
func (b *Bus) put(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var in struct{ Entries []entry }
	if err == nil {
		err = json.Unmarshal(body, &in)
	}
	known := r.Header.Get("X-Amz-Target") == "AWSEvents.PutEvents"
	if err != nil || !known || len(in.Entries) < 1 || len(in.Entries) > 10 || len(body) > 256<<10 {
		http.Error(w, `{"__type":"ValidationException","message":"want PutEvents of 1 to 10 entries in 256 KB"}`, http.StatusBadRequest)
		return
	}
	type result struct {
		EventID      string `json:"EventId,omitempty"`
		ErrorCode    string `json:",omitempty"`
		ErrorMessage string `json:",omitempty"`
	}
	var out struct {
		FailedEntryCount int
		Entries          []result
	}
	for _, e := range in.Entries {
		id, err := b.take(r, e)
		if err != nil {
			out.FailedEntryCount++
			out.Entries = append(out.Entries, result{ErrorCode: "MalformedDetail", ErrorMessage: err.Error()})
			continue
		}
		out.Entries = append(out.Entries, result{EventID: id})
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(out) // who asked has gone
}

func (b *Bus) take(r *http.Request, e entry) (string, error) {
	var detail map[string]any
	if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil {
		return "", err
	}
	b.mu.Lock()
	id := fmt.Sprintf("00000000-0000-0000-0000-%012d", len(b.events))
	event, err := json.Marshal(map[string]any{
		"version": "0", "id": id, "detail-type": e.DetailType, "source": e.Source, "account": Account, "region": Region,
		"time": time.Unix(int64(e.Time), 0).UTC(), "resources": []string{}, "detail": detail,
	})
	b.events = append(b.events, event)
	b.mu.Unlock()
	if err != nil {
		return "", err
	}
	return id, b.host.route(r.Context(), e.EventBusName, event)
}
