package kubernetes

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestInstances(t *testing.T) {
	t.Parallel()
	two, half := 2, 50
	tests := []struct {
		name, text, findings string
		want                 InstanceSelection
	}{
		{"kubernetes §23.16 a count as a text", `{type: Count, spec: {count: "2"}}`, "[]", InstanceSelection{Count: &two}},
		{"the type may come last", "{spec: {percentage: 50}, type: Percentage}", "[]", InstanceSelection{Percentage: &half}},
		{"no spec", "{type: Count}", `[1:1 selection: key "spec" is missing [MISSING_KEY]]`, InstanceSelection{}},
		{"no number", "{type: Count, spec: {}}", `[1:21 selection.spec: key "count" is missing [MISSING_KEY]]`, InstanceSelection{}},
		{"a text", "many", "[1:1 selection: found \"many\"; want a mapping [WRONG_TYPE]]", InstanceSelection{}},
		{"a type that nobody knows", "{type: count, spec: {count: 2}}",
			`[1:8 selection.type: found "count"; want one of Count, Percentage; did you mean "Count"? [WRONG_VALUE]]`, InstanceSelection{Count: &two}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := yamldoc.NewReport("")
			got := DecodeInstances(document.New(r), yamldoc.Sub(mapping(t, tt.text).Node, "selection"))
			if diff := cmp.Diff(tt.findings, fmt.Sprint(r.Findings())); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Errorf("selection (-want +got):\n%s", diff)
			}
		})
	}
}
