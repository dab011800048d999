package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]expr.Problem{
		"no expressions":         nil,
		"<+nope.at.all> <+f(1)>": nil, // syntax only
		"<+input>.default(a)":    nil,
		"a <+>":                  {{Offset: 2, Message: "<+> is empty; a name or an expression is expected"}},
		"<+a b> <+c> <+1 +>": {
			{Offset: 4, Message: `found "b"; an operator or > is expected`},
			{Offset: 17, Message: "found the closing >; a value is expected (greater-than is best written gt)"},
		},
		"<+a == “x”>": {
			{Offset: 7, Message: "found a typographic quote; it is read as a plain one", Warning: true},
		},
		"cat <+file": {{Offset: 4, Message: "<+ is never closed; > is expected at the end of the expression"}},
	} {
		if diff := cmp.Diff(want, expr.Check(text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestCheckBody(t *testing.T) {
	t.Parallel()
	for body, want := range map[string][]expr.Problem{
		"":                   nil,
		"<+input>":           nil,
		"<+a> > 0 && b == 1": nil,
		"<+a> === 0":         {{Offset: 7, Message: `found "="; assignment isn't possible, equality is ==`}},
		"<+a> == ‘x’":        {{Offset: 8, Message: "found a typographic quote; it is read as a plain one", Warning: true}},
	} {
		if diff := cmp.Diff(want, expr.CheckBody(body)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", body, diff)
		}
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][][]string{
		"none":                                                   nil,
		"<+pipeline.name> <+env.name.trim()>":                    {{"pipeline", "name"}, {"env", "name"}},
		`<+<+a.b>.split(",")[<+i>]>`:                             {{"a", "b"}, {"i"}},
		`<+serviceVariables.get("a.b").length()>`:                {{"serviceVariables", "a.b"}},
		`<+trigger.header['K']>`:                                 {{"trigger", "header", "K"}},
		`<+pipeline.stages.<+matrix.s>.status>`:                  {{"pipeline", "stages"}, {"matrix", "s"}},
		`<+execution.steps.s<+x>.output>`:                        {{"execution", "steps"}, {"x"}},
		`<+json.select("a", httpResponseBody)>`:                  {{"httpResponseBody"}},
		`<+"t <+a> t">`:                                          {{"a"}},
		`<+a ? {k: b} : [c, !d]>`:                                {{"a"}, {"b"}, {"c"}, {"d"}},
		`<+<+a.b>.c>`:                                            {{"a", "b", "c"}},
		"<+a b> <+c>":                                            {{"c"}},
		`<+pipeline.variables.n> > 0 && <+pipeline.variables.m>`: {{"pipeline", "variables", "n"}, {"pipeline", "variables", "m"}},
	} {
		if diff := cmp.Diff(want, expr.References(text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}
