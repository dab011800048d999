package awslambda_test

import (
	"fmt"
	"strings"
	"testing"

	lane "github.com/slipway-cd/slipway/pkg/swimlane/awslambda"
)

// A preview tells what a deployment would change, and changes nothing itself.
func TestDiff(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	first := strings.Replace(definition, "{variables: {", "{variables: {LEVEL: info, TOKEN: old-secret, ", 1)
	s := a.stage("e1", "web-1.zip").defined(first)
	out := s.good(lane.OpDiff, 0)
	if got := fmt.Sprint(out["changed"]); got != "[Function/web Code/web Alias/live]" {
		t.Errorf("of nothing there would change %s:\n%v", got, out["diff"])
	}
	if got := a.changes(); len(got) != 0 || len(s.env.Kept()) != 0 {
		t.Errorf("the preview changes %v and keeps %v", got, s.env.Kept())
	}
	s.good(lane.OpDeploy, 0)
	if out = a.stage("e2", "web-1.zip").defined(first).good(lane.OpDiff, 0); out["hasChanges"] != false {
		t.Errorf("of the same would change:\n%v", out["diff"])
	}
	out = a.stage("e3", "web-2.zip").defined(strings.NewReplacer("info", "debug", "old", "new").Replace(first)).good(lane.OpDiff, 0)
	diff := fmt.Sprint(out["diff"])
	for _, line := range []string{
		`-      "LEVEL": "(another value, not shown)",`, `+      "LEVEL": "debug",`, `-  "artifact": "web-1.zip"`, `+  "artifact": "web-2.zip"`,
		`-  "functionVersion": "1"`, `+  "functionVersion": "a new one"`,
	} {
		if !strings.Contains(diff, line+"\n") {
			t.Errorf("the difference lacks %s:\n%s", line, diff)
		}
	}
	if strings.Contains(diff, "old-secret") {
		t.Errorf("an old value is shown:\n%s", diff)
	}
}
