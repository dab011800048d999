package harnessapproval_test

import (
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/harnessapproval"
	"github.com/slipway-cd/slipway/pkg/step/steptest"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func TestSuite(t *testing.T) {
	t.Parallel()
	steptest.Run(t, harnessapproval.Type())
}

const spec = `
approvalMessage: Deploy 1.2.3?
approvers: {minimumCount: 1, userGroups: [account._account_all_users]}
approverInputs:
  - {name: reason, required: true}
`

// TestDigest: an answer is bound to everything that was shown and to where it
// was asked.
func TestDigest(t *testing.T) {
	t.Parallel()
	base := digest(t, spec, steptest.In(t, nil, nil))
	if base != digest(t, spec, steptest.In(t, nil, nil)) {
		t.Error("the same question has two digests")
	}
	for name, c := range map[string]struct {
		spec   string
		change func(*step.In)
	}{
		"another message":   {spec: replace(t, spec, "1.2.3", "1.2.4")},
		"another minimum":   {spec: replace(t, spec, "minimumCount: 1", "minimumCount: 2")},
		"another group":     {spec: replace(t, spec, "account._account_all_users", "_project_all_users")},
		"another input":     {spec: replace(t, spec, "reason", "ticket")},
		"a default":         {spec: replace(t, spec, "required: true", "required: true, defaultValue: x")},
		"another execution": {spec: spec, change: func(in *step.In) { in.Execution = "e2" }},
		"another step":      {spec: spec, change: func(in *step.In) { in.Node = "pipeline.stages.s1.spec.execution.steps.y" }},
		"another attempt":   {spec: spec, change: func(in *step.In) { in.Attempt = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := steptest.In(t, nil, nil)
			if c.change != nil {
				c.change(&in)
			}
			if digest(t, c.spec, in) == base {
				t.Error("the digest is the same")
			}
		})
	}
}

func digest(t *testing.T, text string, in step.In) string {
	t.Helper()
	docs, r := yamldoc.Parse("", []byte(text))
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	s := harnessapproval.Type().Decode(docs[0], r)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	a, err := s.Start(in)
	if err != nil {
		t.Fatal(err)
	}
	return a.Approval.Digest
}

func replace(t *testing.T, text, old, with string) string {
	t.Helper()
	out := strings.Replace(text, old, with, 1)
	if out == text {
		t.Fatalf("no %q in the spec", old)
	}
	return out
}
