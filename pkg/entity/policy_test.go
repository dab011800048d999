package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/policy"
)

// TestASetHasAHundredPolicies and no more.
func TestASetHasAHundredPolicies(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{0, 1} {
		var doc strings.Builder
		doc.WriteString("policySet:\n  identifier: s\n  name: s\n  type: pipeline\n  action: onsave\n  enabled: true\n  policies:\n")
		for i := range policy.MaxPolicies + extra {
			fmt.Fprintf(&doc, "    - {identifier: p%d, severity: error}\n", i)
		}
		if _, report := decode("set.yaml", []byte(doc.String()), project); report.Failed() != (extra > 0) {
			t.Errorf("of %d policies it says %v", policy.MaxPolicies+extra, report.Findings())
		}
	}
}

// TestAStepEnforcesTenSets and no more.
func TestAStepEnforcesTenSets(t *testing.T) {
	t.Parallel()
	for _, extra := range []int{0, 1} {
		sets := strings.Repeat("p, ", policy.MaxEnforced+extra)
		doc := "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Custom, spec: {execution: {steps: [{step: {identifier: w, name: w, type: Wait, spec: {duration: 1m}, enforce: {policySets: [" + sets + "]}}}]}}}}]}"
		if _, report := decode("pipeline.yaml", []byte(doc), project); report.Failed() != (extra > 0) {
			t.Errorf("of %d sets it says %v", policy.MaxEnforced+extra, report.Findings())
		}
	}
}
