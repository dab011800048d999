package testaws_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// A function gets the events of its rule's bus that have one of the values of
// each field of its pattern.
func TestRules(t *testing.T) {
	t.Parallel()
	host := testaws.NewHost(t)
	var got []string
	for name, r := range map[string]struct{ bus, pattern string }{
		"by type":      {"own", `{"source": ["a"], "detail-type": ["T", "U"]}`},
		"by detail":    {"own", `{"detail": {"who": {"name": ["eve", "bob"]}}}`},
		"by prefix":    {"own", `{"detail": {"key": [{"prefix": "in/"}]}}`},
		"by suffix":    {"own", `{"detail": {"key": [{"suffix": ".yaml"}]}}`},
		"by reference": {"own", `{"source": ["a"], "detail": {"machine": [{"Ref": "Machine"}]}}`},
		"another bus":  {"", `{"source": ["a"]}`},
	} {
		var pattern map[string]any
		if err := json.Unmarshal([]byte(r.pattern), &pattern); err != nil {
			t.Fatal(err)
		}
		host.AddFunc(name, func(context.Context, []byte) ([]byte, error) {
			got = append(got, name)
			return []byte("null"), nil
		})
		host.AddRule(testaws.Rule{Function: name, Bus: r.bus, Pattern: pattern})
	}
	client := eventbridge.NewFromConfig(testaws.Config(testaws.NewBus(t, host).URL))
	for _, tt := range []struct{ source, kind, detail, want string }{
		{"a", "T", `{}`, "by type"},
		{"b", "T", `{}`, ""},
		{"a", "V", `{"who": {"name": "bob"}}`, "by detail"},
		{"a", "V", `{"who": "bob"}`, ""},
		{"b", "T", `{"key": "in/x"}`, "by prefix"},
		{"b", "T", `{"key": "x.yaml"}`, "by suffix"},
		{"b", "T", `{"machine": "m"}`, ""},
		{"a", "V", `{"machine": "m"}`, "by reference"},
	} {
		got = nil
		out, err := client.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []types.PutEventsRequestEntry{{
			EventBusName: aws.String("own"), Source: &tt.source, DetailType: &tt.kind, Detail: &tt.detail,
		}}})
		if err != nil || out.FailedEntryCount != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s %s %s: functions (-want +got):\n%s", tt.source, tt.kind, tt.detail, diff)
		}
	}
}
