package expr_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestUnresolved(t *testing.T) { // semantics/pipeline §3.5, unresolved policy 1 and 2
	t.Parallel()
	interpolate(t, []row{
		{text: `<+nope>`, err: `<+nope> at offset 2`},
		{text: `<+nope.a.b>`, err: `<+nope.a.b>`},
		{text: `<+pipeline.variables.undefined>`, err: `<+pipeline.variables.undefined>`},
		{text: `<+pipeline.stages.nope.status>`, err: `<+pipeline.stages.nope.status>`},
		{text: `<+execution.steps.nope.output>`, err: `unknown name "nope"`},
		{text: `<+pipeline.variables.undefined.trim()>`, err: `<+pipeline.variables.undefined>`},
		{text: `<+pipeline.variables.<+"un">defined>`, err: `<+pipeline.variables.undefined>`},
		{text: `<+pipeline.variables.undefined ?? "x">`, err: `undefined`}, // a wrong name isn't a missing value
		{text: `<+pipeline.variables.json.a>`, err: `json.object(..)`},
		{text: `<+pipeline.variables.n.x>`, err: `the value is a number, which has no "x"`},
		{text: `<+trigger.payload.k.9>`, err: `the value is a list, which has no "9"`},
		{text: `<+my-var>`, err: `get("a-b")`},
		{text: `<+execution.steps.skippedStep.output.outputVariables.x>`, want: `null`},
		{text: `x <+execution.steps.skippedStep.output.outputVariables.x>`, want: `"x null"`},
		{text: `<+trigger.payload.absent.deeper>`, want: `null`},
		{text: `<+execution.steps.s1.output.outputVariables.absent>`, want: `null`},
		{text: `<+env.name>`, want: `null`},
		{text: `<+env>`, want: `null`},
	})
}

func TestUnresolvedSaysWhere(t *testing.T) {
	t.Parallel()
	_, err := expr.Interpolate("# comment\n<+pipeline.name> <+ pipeline.variables.undefined >", newScope(t))
	var got *expr.Unresolved
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want *Unresolved", err)
	}
	if got.Expression != "pipeline.variables.undefined" || got.Offset != 30 || got.Reason != `unknown name "undefined"` {
		t.Errorf("got %+v", got)
	}
	if !fault.Is(err, fault.UnresolvedExpression) {
		t.Errorf("got code %s", fault.CodeOf(err))
	}
	if !errors.Is(err, expr.ErrUnknown) {
		t.Error("the cause isn't ErrUnknown")
	}
	if diff := cmp.Diff([]fault.FailureType{fault.ConfigurationFailure, fault.Unknown}, fault.Failures(fmt.Errorf("step: %w", err))); diff != "" {
		t.Errorf("failure types (-want +got)\n%s", diff)
	}
}

func TestStoredExpressions(t *testing.T) { // values that refer to values
	t.Parallel()
	stored := map[string]string{
		"s1": "<+pipeline.variables.s2>-1", "s2": "<+pipeline.variables.v>-2",
		"a": "<+pipeline.variables.b>", "b": "x<+pipeline.variables.c>", "c": "<+pipeline.variables.a.trim()>",
		"self": "<+pipeline.variables.self>", "wrong": "<+pipeline.variables.undefined>", "secret": `p-<+secrets.getValue("db")>`,
	}
	for i := range 30 {
		stored[fmt.Sprintf("deep%d", i)] = fmt.Sprintf("<+pipeline.variables.deep%d>", i+1)
		stored[fmt.Sprintf("bomb%d", i)] = strings.Repeat(fmt.Sprintf("<+pipeline.variables.bomb%d>", i+1), 9)
	}
	stored["deep30"], stored["bomb20"] = "end", ""
	for text, want := range map[string]string{
		"<+pipeline.variables.s1>":              "ABC-2-1",
		"<+pipeline.variables.deep10>":          "end",
		"<+pipeline.variables.secret>!":         "p-{{db}}!",
		"<+pipeline.variables.secret.length()>": "error: secret",
		"<+pipeline.variables.self>":            "error: in a circle: pipeline.variables.self -> pipeline.variables.self",
		"<+pipeline.variables.a>":               "error: in a circle: pipeline.variables.a -> pipeline.variables.b -> pipeline.variables.c -> pipeline.variables.a",
		"<+pipeline.variables.deep0>":           "error: too often (26 deep",
		"<+pipeline.variables.bomb0>":           "error: too often",
		"<+pipeline.variables.wrong>":           "error: <+pipeline.variables.undefined>",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			s := newScope(t)
			s.stored = stored
			v, err := expr.Interpolate(text, s)
			if part, ok := strings.CutPrefix(want, "error: "); ok {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Fatalf("got %s, %v, want an error with %q", v.Text(), err, part)
				}
				return
			}
			if err != nil || v.Text() != want {
				t.Errorf("got %q, %v, want %q", v.Text(), err, want)
			}
		})
	}
	s := newScope(t)
	s.stored = stored
	if _, err := expr.Interpolate("<+pipeline.variables.a>", s); !fault.Is(err, fault.UnresolvedExpression) {
		t.Errorf("a circle: got code %s, want UNRESOLVED_EXPRESSION", fault.CodeOf(err))
	}
	if ok, err := expr.Condition(`<+pipeline.variables.wrong> == "x"`, s); ok || err != nil {
		t.Errorf("a condition on a variable with a wrong name in it: got %v, %v, want false", ok, err)
	}
}

func TestCondition(t *testing.T) { // semantics/pipeline §4 and §3.5 item 3
	t.Parallel()
	for _, c := range []struct {
		body string
		want bool
		err  string
	}{
		{body: "", want: true},
		{body: "  \n ", want: true},
		{body: "true", want: true},
		{body: "false", want: false},
		{body: `"TRUE"`, want: true},
		{body: `"False"`, want: false},
		{body: "<+pipeline.variables.textTrue>", want: true},
		{body: "<+pipeline.variables.textFalse>", want: false},
		{body: "<+pipeline.variables.yes>", want: true},
		{body: "<+pipeline.variables.nothing>", want: false},
		{body: "<+pipeline.variables.undefined>", want: false},
		{body: "<+nope>", want: false},
		{body: `<+nope.a.b> == "x"`, want: false},
		{body: `<+nope.a.b> != "x"`, want: true},
		{body: `<+nope> == null`, want: true},
		{body: `<+env.name> == "prod"`, want: false},
		{body: `<+env.name> != "prod"`, want: true},
		{body: `<+pipeline.variables.env> == prod`, want: false}, // a bare word is a name
		{body: `<+strategy.iteration> == 0`, want: true},
		{body: `<+nope> > 1`, want: false},
		{body: `<+pipeline.variables.v>`, err: "a string"},
		{body: `<+pipeline.variables.n>`, err: "a number"},
		{body: `<+trigger.payload.k>`, err: "a list"},
		{body: `<+nope.a.trim()> == "x"`, err: "null"},
		{body: `<+pipeline.variables.v> ==`, err: "a value is expected"},
		{body: `1 - "x" == 0`, err: "isn't a number"},
	} {
		t.Run(c.body, func(t *testing.T) {
			t.Parallel()
			got, err := expr.Condition(c.body, newScope(t))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, %v, want an error with %q", got, err, c.err)
				}
				if !fault.Is(err, fault.Invalid) {
					t.Errorf("got code %s, want INVALID", fault.CodeOf(err))
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %v, %v, want %v", got, err, c.want)
			}
		})
	}
}
