package testaws

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
)

// Rule is a rule of EventBridge: a function gets the events of a bus that
// match a pattern. An event that the function fails on isn't delivered again.
type Rule struct {
	Function string
	Bus      string         // empty: the account's own
	Pattern  map[string]any // as in a template; a reference in it matches anything
}

// AddRule makes a rule.
func (h *Host) AddRule(r Rule) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rules = append(h.rules, r)
}

// Subscribe gives a function the events of runs that come into one of the
// statuses.
func (h *Host) Subscribe(function string, statuses ...string) {
	var list []any
	for _, s := range statuses {
		list = append(list, s)
	}
	h.AddRule(Rule{Function: function, Pattern: map[string]any{"detail": map[string]any{"status": list}}})
}

// deliver takes in an event of the account's own bus and gives it to who wants
// it.
func (h *Host) deliver(w http.ResponseWriter, r *http.Request) {
	event, err := io.ReadAll(r.Body)
	if err == nil {
		err = h.route(r.Context(), "", event)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

// route gives an event of a bus to the functions of the rules that match it.
func (h *Host) route(ctx context.Context, bus string, event []byte) error {
	var fields map[string]any
	if err := json.Unmarshal(event, &fields); err != nil {
		return err
	}
	h.mu.Lock()
	rules := slices.Clone(h.rules)
	h.mu.Unlock()
	for _, rule := range rules {
		if rule.Bus != bus || !matches(rule.Pattern, fields) {
			continue
		}
		result, err := h.Invoke(ctx, rule.Function, event)
		if h.over() { // with the test
			return nil
		}
		if err != nil || result.Error != "" {
			h.tb.Logf("function %s failed on an event: %v %s", rule.Function, err, result.Payload)
		}
	}
	return nil
}

// matches says whether an event has, for every field of a pattern, one of its
// values.
// https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
func matches(pattern, event map[string]any) bool {
	for name, want := range pattern {
		switch want := want.(type) {
		case map[string]any:
			inner, _ := event[name].(map[string]any)
			if inner == nil || !matches(want, inner) {
				return false
			}
		case []any:
			if !slices.ContainsFunc(want, func(one any) bool { return meets(one, event[name]) }) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// meets says whether a value is as one item of a pattern's list says.
func meets(want, value any) bool {
	condition, ok := want.(map[string]any)
	if !ok {
		return want == value
	}
	text, _ := value.(string)
	if prefix, ok := condition["prefix"].(string); ok {
		return strings.HasPrefix(text, prefix)
	}
	if suffix, ok := condition["suffix"].(string); ok {
		return strings.HasSuffix(text, suffix)
	}
	return value != nil && (condition["Ref"] != nil || condition["Fn::GetAtt"] != nil)
}

// over says that the test has ended.
func (h *Host) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}
