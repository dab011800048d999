package ecs_test

import (
	"fmt"
	"strings"
	"testing"

	ecslane "github.com/slipway-cd/slipway/pkg/swimlane/ecs"
)

// A preview tells what a deployment would change, and changes nothing itself.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	r := s.succeeds(t, ecslane.OpDiff, withScaling)
	if got := fmt.Sprint(output(t, r, "changed")); got != "[TaskDefinition/web Service/web Scaling/web]" {
		t.Errorf("of nothing there would change %s:\n%v", got, output(t, r, "diff"))
	}
	if got := s.changes(0); len(got) != 0 || len(s.env.Kept()) != 0 {
		t.Errorf("the preview changes %v and keeps %v", got, s.env.Kept())
	}
	s.succeeds(t, ecslane.OpRolling, withScaling)
	r = s.succeeds(t, ecslane.OpDiff, withScaling)
	if got := output(t, r, "hasChanges"); got != false {
		t.Errorf("of the same would change:\n%v", output(t, r, "diff"))
	}
	next := s.next(t, "web:2")
	next.service = strings.Replace(next.service, "desiredCount: 2", "desiredCount: 3", 1)
	r = next.succeeds(t, ecslane.OpDiff)
	diff := fmt.Sprint(output(t, r, "diff"))
	for _, line := range []string{`-      "image": "web:1",`, `+      "image": "web:2",`, `-  "desiredCount": 2,`, `+  "desiredCount": 3,`, `-      "policyName": "cpu",`} {
		if !strings.Contains(diff, line+"\n") {
			t.Errorf("the difference lacks %s:\n%s", line, diff)
		}
	}
	if len(r.Changes) != 0 {
		t.Errorf("the ledger gets %+v", r.Changes)
	}
}
