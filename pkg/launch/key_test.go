package launch

import (
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// A key starts one execution within a day, and then another one. The key of
// an event is looked up before, by KeyedID: that stays the first one's.
func TestAKeyStandsForOneExecutionADay(t *testing.T) {
	t.Parallel()
	c, kept := setup(t)
	scope, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	doc := "pipeline: {identifier: p, name: p, orgIdentifier: o, projectIdentifier: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: w, name: w, type: Wait, spec: {duration: 1m}}}]}}}}]}"
	if _, err := c.Save(t.Context(), catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	now := began
	s := New(Config{Store: kept, Runner: idle{}, Options: builtin.Options(ref.Scope{}), Now: func() time.Time { return now }})
	start := func(after time.Duration, key string) string {
		t.Helper()
		now = began.Add(after)
		e, err := s.Start(t.Context(), Request{Scope: scope, Pipeline: "p", By: by, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return e.ID
	}
	names := map[string]string{} // of executions, in their order
	for _, tt := range []struct {
		after time.Duration
		key   string
		want  string
	}{
		{0, "k", "1"},
		{KeyKept - time.Second, "k", "1"},
		{KeyKept - time.Second, "other", "2"},
		{KeyKept, "k", "3"},
		{2*KeyKept - time.Second, "k", "3"},
		{2 * KeyKept, "k", "4"},
		{2*KeyKept + time.Second, "k", "4"},
		{2*KeyKept + time.Second, "", "5"},
		{2*KeyKept + time.Second, "", "6"},
		{30 * KeyKept, "k", "7"},
	} {
		id := start(tt.after, tt.key)
		if names[id] == "" {
			names[id] = string(rune('1' + len(names)))
		}
		if names[id] != tt.want {
			t.Errorf("%q after %s gives execution %s, want %s", tt.key, tt.after, names[id], tt.want)
		}
		if tt.want == "1" && id != KeyedID(tt.key) {
			t.Errorf("the first execution of key %q is %s, want %s", tt.key, id, KeyedID(tt.key))
		}
	}
}
