package main

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/plan"
)

// A fact that others have a hand in, such as a version, makes no lines of its own in what
// somebody is asked to approve.
func TestAFactIsALine(t *testing.T) {
	t.Parallel()
	var shown strings.Builder
	(&decider{err: &shown}).facts(&plan.Approval{Digest: "sha256:0123456789abcdef", Facts: plan.Facts{
		"artifact of deploy":    "web:2\n  environment of deploy: staging",
		"environment of deploy": "prod",
	}})
	const want = "  artifact of deploy: web:2\\n  environment of deploy: staging\n  environment of deploy: prod\n  digest 0123456789ab\n"
	if shown.String() != want {
		t.Errorf("shown:\n%s\nwant:\n%s", shown.String(), want)
	}
}
