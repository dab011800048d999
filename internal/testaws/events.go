package testaws

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
)

// rule is a rule of EventBridge: a function gets the runs' events of some
// statuses.
type rule struct {
	function string
	statuses []string
}

// Subscribe gives a function the events of runs that come into one of the
// statuses, as a rule of EventBridge does; none means all. An event that the
// function fails on isn't delivered again.
func (h *Host) Subscribe(function string, statuses ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = append(h.rules, rule{function: function, statuses: statuses})
}

// deliver takes an event in and gives it to who wants it.
func (h *Host) deliver(w http.ResponseWriter, r *http.Request) {
	event, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var e struct{ Detail struct{ Status string } }
	if err := json.Unmarshal(event, &e); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	rules := slices.Clone(h.rules)
	h.mu.Unlock()
	for _, rule := range rules {
		if len(rule.statuses) > 0 && !slices.Contains(rule.statuses, e.Detail.Status) {
			continue
		}
		result, err := h.Invoke(r.Context(), rule.function, event)
		if h.over() { // with the test
			return
		}
		if err != nil || result.Error != "" {
			h.tb.Logf("function %s failed on an event: %v %s", rule.function, err, result.Payload)
		}
	}
}

// over says that the test has ended.
func (h *Host) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}
