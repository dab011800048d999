package rego

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/policy"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestPoliciesGiveTheirVerdicts(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	stages := func(types ...string) object {
		var list []any
		for _, typ := range types {
			list = append(list, object{"stage": object{"name": typ, "type": typ}})
		}
		return object{"pipeline": object{"name": "p", "stages": list}}
	}
	for _, c := range []struct {
		name, rego string
		input      any
		deny, warn []string
		err        string
	}{
		{
			name:  "version 0 denies by a set of messages",
			rego:  "package pipeline\n\ndeny[msg] {\n  s := input.pipeline.stages[_].stage\n  s.type == \"Custom\"\n  msg := sprintf(\"stage %s is custom\", [s.name])\n}",
			input: stages("Deployment", "Custom"), deny: []string{"stage Custom is custom"},
		},
		{
			name: "version 0 passes",
			rego: "package pipeline\n\ndeny[msg] {\n  input.pipeline.stages[_].stage.type == \"CI\"\n  msg := \"no\"\n}", input: stages("Deployment"),
		},
		{
			name: "an approval must stand before a deployment",
			rego: `package pipeline
deny[msg] {
  some i
  input.pipeline.stages[i].stage.type == "Deployment"
  not approved(i)
  msg := sprintf("deployment stage '%s' has no approval before it", [input.pipeline.stages[i].stage.name])
}
approved(i) {
  some j
  input.pipeline.stages[j].stage.type == "Approval"
  j < i
}`,
			input: stages("Deployment", "Approval", "Deployment"), deny: []string{"deployment stage 'Deployment' has no approval before it"},
		},
		{
			name:  "a function shadows a built-in one",
			rego:  "package p\n\ndeny[\"no CI\"] {\n  s := input.pipeline.stages[_].stage\n  not contains([\"Deployment\"], s.type)\n}\n\ncontains(arr, elem) {\n  arr[_] = elem\n}",
			input: stages("CI"), deny: []string{"no CI"},
		},
		{
			name: "version 1 by its keywords", rego: "package p\n\ndeny contains msg if {\n  some s in input.pipeline.stages\n  s.stage.type == \"CI\"\n  msg := \"no CI\"\n}",
			input: stages("CI"), deny: []string{"no CI"},
		},
		{
			name: "version 1 by its import", rego: "package p\n\nimport rego.v1\n\ndeny contains {\"msg\": \"no CI\"} if input.pipeline.stages[_].stage.type == \"CI\"",
			input: stages("CI"), deny: []string{"no CI"},
		},
		{name: "deny may be true", rego: "package p\n\ndeny { input.x == 1 }", input: object{"x": 1}, deny: []string{"it says no"}},
		{name: "deny may be false", rego: "package p\n\ndefault deny = false\n", input: object{}},
		{name: "deny may be a text", rego: "package p\n\ndeny = \"never\" { true }", input: object{}, deny: []string{"never"}},
		{name: "warnings", rego: "package a.b[\"c-d\"]\n\nwarn[\"soon\"] { true }", input: object{}, warn: []string{"soon"}},
		{name: "the time is fixed", rego: "package p\n\ndeny[t] { t := time.now_ns() }", input: object{}, deny: []string{fmt.Sprint(noon.UnixNano())}},
		{name: "a value that conflicts", rego: "package p\n\ndeny = x { x := input.list[_] }", input: object{"list": []any{"a", "b"}}, err: "conflicting values"},
		{name: "one that can't be compiled", rego: "package p\n\ndeny[msg] { msg := http.send({}) }", input: object{}, err: "undefined function http.send"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := New().Evaluate(t.Context(), c.rego, c.input, noon)
			if diff := cmp.Diff(policy.Answer{Deny: c.deny, Warn: c.warn}, policy.Answer{Deny: got.Deny, Warn: got.Warn}); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if got.Err == nil && c.err != "" || got.Err != nil && (c.err == "" || !strings.Contains(got.Err.Error(), c.err)) {
				t.Errorf("the error is %v; want %q in it", got.Err, c.err)
			}
		})
	}
}

func TestWhatIsWrongHasItsPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rego string
		want       policy.Problem
	}{
		{"a call of the network", "package p\n\ndeny[msg] {\n  r := http.send({\"url\": \"http://example.com\", \"method\": \"get\"})\n  msg := r.body\n}", policy.Problem{Line: 4, Column: 8, Message: "undefined function http.send"}},
		{"a look-up of names", "package p\n\ndeny[x] { x := net.lookup_ip_addr(\"example.com\") }", policy.Problem{Line: 3, Column: 16, Message: "undefined function net.lookup_ip_addr"}},
		{"the environment", "package p\n\ndeny[x] { x := opa.runtime().env }", policy.Problem{Line: 3, Column: 16, Message: "undefined function opa.runtime"}},
		{"a parser", "package p\n\ndeny[x] { x := rego.parse_module(\"a\", \"b\") }", policy.Problem{Line: 3, Column: 16, Message: "undefined function rego.parse_module"}},
		{"a trace", "package p\n\ndeny[x] { trace(\"x\"); x := 1 }", policy.Problem{Line: 3, Column: 11, Message: "undefined function trace"}},
		{"a syntax error of version 1", "package p\n\ndeny contains msg if {\n  msg := \n}", policy.Problem{Line: 5, Column: 1, Message: "unexpected } token"}},
		{"no package", "deny { true }", policy.Problem{Line: 1, Column: 1, Message: "package expected"}},
		{"nothing", "", policy.Problem{Line: 1, Column: 1, Message: "empty"}},
		{"a function", "package p\n\ndeny(x) { x == 1 }", policy.Problem{Line: 1, Column: 1, Message: "must be rules, not functions"}},
		{"no deny", "package p\n\nallow { true }", policy.Problem{Line: 1, Column: 1, Message: "has no rule deny", Warning: true}},
		{"too large", "package p\n#" + strings.Repeat("x", policy.MaxRego), policy.Problem{Line: 1, Column: 1, Message: "the limit is 262144"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := New().Check(c.rego)
			if !slices.ContainsFunc(found, func(p policy.Problem) bool {
				return p.Line == c.want.Line && p.Column == c.want.Column && p.Warning == c.want.Warning && strings.Contains(p.Message, c.want.Message)
			}) {
				t.Errorf("found %+v; want %+v", found, c.want)
			}
		})
	}
}

func TestAPolicyThatNeverEndsIsStopped(t *testing.T) {
	t.Parallel()
	const forever = "package p\n\ndeny[x] {\n  n := numbers.range(1, 3000)\n  x := n[_] + n[_] * n[_] + n[_] * 10000000\n  x < 0\n}"
	got := New().Evaluate(t.Context(), forever, map[string]any{}, noon)
	if got.Err == nil || !strings.Contains(got.Err.Error(), "took longer than 1s") {
		t.Errorf("got %+v; want that it took longer than 1s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := New().Evaluate(ctx, forever, map[string]any{}, noon); got.Err == nil {
		t.Errorf("got %+v of a request that has ended; want an error", got)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	got := New().Evaluate(t.Context(), "package p\n\ndeny[x] { n := numbers.range(1, 100)[_]; x := sprintf(\"%0*d\", [2000, n]) }", map[string]any{}, noon)
	if len(got.Deny) != maxMessages+1 || len(got.Deny[0]) != maxMessage+len("...") {
		t.Errorf("got %d messages, the first of %d bytes: %v", len(got.Deny), len(got.Deny[0]), got.Err)
	}
}

func TestTextsAreCompiledOnce(t *testing.T) {
	t.Parallel()
	e := New()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range remembered + 1 {
				text := fmt.Sprintf("package p\n\ndeny[\"%d\"] { true }", i%20)
				if got := e.Evaluate(t.Context(), text, nil, noon); len(got.Deny) != 1 {
					t.Errorf("got %+v of %q", got, text)
				}
			}
		})
	}
	all.Wait()
	if len(e.compiled) != 20 {
		t.Errorf("%d texts are kept; want 20", len(e.compiled))
	}
}

func BenchmarkEvaluate(b *testing.B) {
	e := New()
	input := map[string]any{"pipeline": map[string]any{"stages": []any{map[string]any{"stage": map[string]any{"type": "Custom"}}}}}
	for b.Loop() {
		e.Evaluate(b.Context(), "package pipeline\n\ndeny[msg] { input.pipeline.stages[_].stage.type == \"Custom\"; msg := \"no\" }", input, noon)
	}
}
