package launch

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/policy/rego"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// TestPoliciesJudgeAStart by the pipeline with its inputs; a warning is kept
// with the execution, and a denial in the audit trail, once for each key.
func TestPoliciesJudgeAStart(t *testing.T) {
	t.Parallel()
	_, s := setup(t)
	policies := judge.New(judge.Config{Entities: s.Entities, Evaluations: s.Evaluations, Engine: rego.New(), Now: time.Now, Alone: true})
	c := catalog.New(catalog.Config{Store: s, Options: builtin.Options(ref.Scope{}), Policies: policies, Now: time.Now})
	scope, by := ref.Scope{Account: "acme", Org: "o", Project: "p"}, audit.Author{Actor: "me"}
	save := func(doc string) {
		t.Helper()
		if _, err := c.Save(t.Context(), catalog.Draft{Scope: scope, YAML: []byte(doc), Version: catalog.AnyVersion}, by); err != nil {
			t.Fatal(fault.Told(err))
		}
	}
	save("pipeline: {name: p, identifier: p, variables: [{name: image, type: String, value: <+input>}, {name: late, type: String, value: <+execution.id>}], stages: [{stage: {name: s, identifier: s, type: Custom, spec: " +
		"{execution: {steps: [{step: {name: w, identifier: w, type: Wait, spec: {duration: 1m}}}]}}}}]}")
	save(`policy:
  identifier: images
  name: p
  rego: |
    package p

    deny[msg] {
      v := input.pipeline.variables[_]
      v.name == "image"
      v.value == "bad"
      msg := "bad image"
    }

    warn[msg] {
      contains(input.pipeline.variables[_].value, "<+execution.id>")
      msg := "an expression"
    }
`)
	save("policySet: {identifier: s, name: s, type: pipeline, action: onrun, enabled: true, policies: [{identifier: images, severity: error}]}")
	l := New(Config{Store: s, Runner: idle{}, Options: builtin.Options(ref.Scope{}), Policies: policies, Now: time.Now})

	started, err := l.Start(t.Context(), Request{Scope: scope, Pipeline: "p", By: by, Inputs: Inputs{Values: map[string]string{"variables.image": "good"}}})
	if err != nil {
		t.Fatal(fault.Told(err))
	}
	given, err := GivenTo(started)
	if err != nil || len(given.Warnings) != 1 || given.Warnings[0].Message != "an expression (policy images of set s)" {
		t.Errorf("kept %+v, %v", given.Warnings, err)
	}
	for range 2 {
		_, err = l.Start(t.Context(), Request{Scope: scope, Pipeline: "p", By: by, Key: "k", Inputs: Inputs{Values: map[string]string{"variables.image": "bad"}}})
		if !fault.Is(err, fault.PolicyDenied) || !strings.Contains(fault.Told(err), "\nbad image (policy images of set s)") {
			t.Errorf("got %v; want that it is denied", err)
		}
	}
	records, err := s.ListAudit(t.Context(), "acme", 1, 100)
	if err != nil {
		t.Fatal(err)
	}
	denied := 0
	for _, r := range records {
		if r.Action == audit.PolicyDenied && r.ID == "p" && strings.Contains(r.After, "bad image") {
			denied++
		}
	}
	if denied != 1 {
		t.Errorf("the denial is recorded %d times", denied)
	}
}
