package expr_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/slipway-cd/slipway/pkg/expr"
)

// seeds are pieces of the language that a fuzzer wouldn't find by itself.
func seeds() []string {
	return []string{
		`plain`, `<+a>`, `<+pipeline.variables.v> > 0 && !<+a> or "b" =~ ["x", '<+a>']`, `<+a ? b : c ?: d ?? e>`, `<+s<+x>_1.<+y>["k"].get("k")[0]?.trim()>`,
		`<+json.select("$..a[?(@.b == 'c' && !@.d)][0,-1][1:2]['x']", httpResponseBody)>`, `<+xml.select("//i[@id='2']/text()", <+pipeline.variables.xml>)>`,
		`<+"a\"\u0041<+"b">".replaceAll("(a)", "$1\\$").split(",", -1)[0]>`, `<+{a: 1, "b": {1, 2}}.keySet().join("-")>`, `<+1..3 + -2.5e3 % 7L div 2>`,
		`<+currentDate().plusMonths(1)> <+currentTime().plusNanos(1)>`, `<+secrets.getValue("a_" + <+b>)>`, `"<+json.select(\"s\",b)>" == “x”`,
		`<+ a > <+ b > >= 1>`, `<+input>.default(\'a,b\').allowedValues(a,<+b>).regex((a)).executionInput()`, `<+a><+`, `<+"`, `<+pipeline.variables.umlaut.substring(2)>`,
		`<+(1 == 1.0) != true eq false>`, `<+a =^ "x" || a !$ "y" || a =~ {k: 1}>`, `<+regex.replace("(a)|b", "$1", shell.escapeChars("a", "a"))>`,
		`<+json.concat([1], {a: 2}) + json.length("[1]") + json.format(json.object("{}"))>`, `<+empty x and not size [1]>`, `<+"prod".substring(0, 3).hashCode().compareTo("1")>`,
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := expr.Compile(text)
		problems := 0
		for _, problem := range expr.Check(text) {
			if !problem.Warning {
				problems++
			}
			if problem.Offset < 0 || problem.Offset > len(text) {
				t.Errorf("problem outside of the text: %+v", problem)
			}
		}
		if !expr.IsRuntimeInput(text) && (err != nil) != (problems > 0) {
			t.Errorf("Compile says %v, Check finds %d problems", err, problems)
		}
		if err == nil && p == nil {
			t.Error("neither a program nor an error")
		}
		_, _ = expr.CompileBody(text)
		_ = expr.CheckBody(text)
		_ = expr.References(text)
		if in, err := expr.ParseInput(text); err == nil {
			if in.HasDefault && in.Check(in.Default) != nil {
				t.Errorf("the default of %q isn't acceptable", text)
			}
			_ = in.CheckMany("a,b")
		}
	})
}

func FuzzEval(f *testing.F) {
	for _, s := range seeds() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := newScope(t)
		start := time.Now()
		defer func() {
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v", took)
			}
		}()
		v, err := expr.Interpolate(text, s)
		if err == nil {
			if !strings.Contains(text, "<+") && v.Text() != text {
				t.Errorf("a text without expressions became %q", v.Text())
			}
			if _, err := v.MarshalJSON(); err != nil {
				t.Errorf("the value can't be encoded: %v", err)
			}
			if utf8.ValidString(text) && !utf8.ValidString(v.Text()) {
				t.Errorf("the value isn't UTF-8: %q", v.Text())
			}
		}
		_, _ = expr.InterpolateKnown(text, s)
		_, _ = expr.Evaluate(text, s)
		_, _ = expr.Condition(text, s)
	})
}
