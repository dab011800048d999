package expr_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// big is a Scope whose every name is a text of some size.
type big struct{ value expr.Value }

func (b big) Lookup(path []string) (expr.Value, int, error) { return b.value, len(path), nil }
func (b big) Call(string, []expr.Value) (expr.Value, error) { return expr.Null(), expr.ErrUnknown }

func TestBounds(t *testing.T) { // semantics/pipeline §3.1: 256 KiB, and everything ends soon
	t.Parallel()
	const limit = 256 << 10
	text := func(n int) big { return big{expr.String(strings.Repeat("a", n))} }
	nested := `{"n":` + strings.Repeat(`{"n":`, 150) + `1` + strings.Repeat(`}`, 151)
	xml := "<r>" + strings.Repeat("<i>x</i>", 4000) + "</r>"
	for name, c := range map[string]struct {
		text  string
		scope expr.Scope
		code  fault.Code // empty: no error
	}{
		"value at the limit":           {"<+a>", text(limit), ""},
		"value over the limit":         {"<+a>", text(limit + 1), fault.TooLarge},
		"text over the limit":          {"<+a>b", text(limit), fault.TooLarge},
		"literal text has no limit":    {strings.Repeat("x", 10*limit), text(1), ""},
		"text too long to compile":     {strings.Repeat("x", 5<<20) + "<+a>", text(1), fault.TooLarge},
		"concatenation":                {"<+a + a>", text(limit/2 + 1), fault.TooLarge},
		"string with expressions":      {`<+"<+a><+a>".length()>`, text(limit/2 + 1), fault.TooLarge},
		"repeat":                       {`<+a.repeat(99999)>`, text(9), fault.TooLarge},
		"repeat of nothing":            {`<+"".repeat(2147483647)>`, text(9), ""},
		"replace":                      {`<+a.replace("", "bbbbbbbb")>`, text(limit / 4), fault.TooLarge},
		"replaceAll":                   {`<+a.replaceAll("", "bbbbbbbb")>`, text(limit / 4), fault.TooLarge},
		"join":                         {`<+[a, a].join(a)>`, text(limit/2 - 1), fault.TooLarge},
		"split":                        {`<+a.split("")>`, text(limit), fault.TooLarge},
		"range":                        {`<+1..99999999>`, text(1), fault.TooLarge},
		"range of extremes":            {`<+(0-9223372036854775807)..9223372036854775807>`, text(1), fault.TooLarge},
		"regular expression":           {`<+a.matches("` + strings.Repeat("a?", 3000) + `")>`, text(9), fault.TooLarge},
		"repetition":                   {`<+a.matches("((a{100}){100}){100}")>`, text(9), fault.Invalid},
		"deep brackets":                {strings.Repeat("<+", 200) + "a" + strings.Repeat(">", 200), text(1), fault.Invalid},
		"deep parentheses":             {"<+" + strings.Repeat("(", 200) + "a" + strings.Repeat(")", 200) + ">", text(1), fault.Invalid},
		"deep lists":                   {"<+" + strings.Repeat("[", 99999) + ">", text(1), fault.Invalid},
		"deep unary":                   {"<+" + strings.Repeat("!", 99999) + "a>", text(1), fault.Invalid},
		"deep ternary":                 {"<+" + strings.Repeat("a ? a : ", 99999) + "a>", text(1), fault.Invalid},
		"deep strings":                 {strings.Repeat(`<+"`, 99999), text(1), fault.Invalid},
		"long sum":                     {"<+1" + strings.Repeat("+1", 99999) + ">", text(1), fault.Invalid},
		"long path":                    {"<+a" + strings.Repeat(".a", 99999) + ">", text(1), fault.Invalid},
		"long chain of methods":        {"<+a" + strings.Repeat(".trim()", 4000) + ">", text(1), ""},
		"much work":                    {"<+[" + strings.Repeat("a.toUpperCase(),", 4000) + "1].size()>", text(limit), fault.TooLarge},
		"much regular expression":      {"<+[" + strings.Repeat(`a.replaceAll("(a|b)*c", ""),`, 2000) + "1].size()>", text(limit), fault.TooLarge},
		"much JSON":                    {"<+[" + strings.Repeat(`json.object(a),`, 2000) + "1].size()>", big{expr.String(`[` + strings.Repeat("1,", limit/2-10) + `1]`)}, fault.TooLarge},
		"JSON bomb by path":            {`<+json.select("$..*..*..*..*..*", a)>`, big{expr.String(nested)}, fault.TooLarge},
		"JSON that is too deep":        {`<+json.object(a)>`, big{expr.String(strings.Repeat("[", 99999))}, fault.Invalid},
		"deep filter":                  {`<+json.select("$[?` + strings.Repeat("(", 3000) + `", "[]")>`, text(1), fault.Invalid},
		"XML bomb by path":             {`<+xml.select("//*[count(//*[count(//i) > 1]) > 1]/following::*/preceding::*", a)>`, big{expr.String(xml)}, fault.TooLarge},
		"XML that is too deep":         {`<+xml.select("//a", a)>`, big{expr.String(strings.Repeat("<a>", 9999))}, fault.Invalid},
		"set of many":                  {"<+{" + strings.Repeat("a+1,", 2000) + "1}>", text(1), ""},
		"many ambiguous greater-than":  {strings.Repeat("<+ a > ", 20000), text(1), ""},
		"many ambiguous, never closed": {strings.Repeat("<+ a + ", 20000), text(1), fault.Invalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			_, err := expr.Interpolate(c.text, c.scope)
			if got := fault.CodeOf(err); got != c.code {
				t.Errorf("got code %q (%.300v), want %q", got, err, c.code)
			}
			// Generous: the race detector and other tests run beside this.
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v", took)
			} else {
				t.Logf("%v", took)
			}
		})
	}
}
