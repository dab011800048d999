package expr_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
)

func TestParseInput(t *testing.T) { // semantics/pipeline §2.1
	t.Parallel()
	for text, want := range map[string]expr.Input{
		`<+input>`:                                          {},
		`  <+input> `:                                       {},
		`<+input>.executionInput()`:                         {AtStart: true},
		`<+input>.default(a)`:                               {Default: "a", HasDefault: true},
		`<+input>.default( a b )`:                           {Default: "a b", HasDefault: true},
		`<+input>.default(\'a,b\')`:                         {Default: "a,b", HasDefault: true},
		`<+input>.default('{"a": "b"}')`:                    {Default: `{"a": "b"}`, HasDefault: true},
		`<+input>.default("")`:                              {HasDefault: true},
		`<+input>.default(<+pipeline.name>)`:                {Default: "<+pipeline.name>", HasDefault: true},
		`<+input>.default(f(x))`:                            {Default: "f(x)", HasDefault: true},
		`<+input>.allowedValues(a,b)`:                       {Allowed: []string{"a", "b"}},
		`<+input>.allowedValues(a, b ,c)`:                   {Allowed: []string{"a", "b", "c"}},
		`<+input>.allowedValues(\'a,b\',c)`:                 {Allowed: []string{"a,b", "c"}},
		`<+input>.allowedValues(c,\'a,b\')`:                 {Allowed: []string{"c", "a,b"}},
		`<+input>.allowedValues(<+v.a>,<+f(1,2)>)`:          {Allowed: []string{"<+v.a>", "<+f(1,2)>"}},
		`<+input>.allowedValues(f(1),g(2))`:                 {Allowed: []string{"f(1)", "g(2)"}},
		`<+input>.selectOneFrom(a,b)`:                       {One: []string{"a", "b"}},
		`<+input>.selectManyFrom(a,b)`:                      {Many: []string{"a", "b"}},
		`<+input>.default(f(x).g(y))`:                       {Default: "f(x).g(y)", HasDefault: true},
		`<+input>.default(:))`:                              {Default: ":)", HasDefault: true},
		`<+input>.regex(^a(b|c)$)`:                          {Regex: "^a(b|c)$"},
		`<+input>.regex([)])`:                               {Regex: "[)]"},
		`<+input>.regex(\))`:                                {Regex: `\)`},
		`<+input>.default(a).allowedValues(a,b)`:            {Default: "a", HasDefault: true, Allowed: []string{"a", "b"}},
		`<+input>.allowedValues(a,b).default(b)`:            {Default: "b", HasDefault: true, Allowed: []string{"a", "b"}},
		`<+input>.regex((a)+).executionInput().default(aa)`: {Default: "aa", HasDefault: true, Regex: "(a)+", AtStart: true},
		`<+input>.default(<+x>).allowedValues(a)`:           {Default: "<+x>", HasDefault: true, Allowed: []string{"a"}},
		`<+input>.default(a).allowedValues(<+x>)`:           {Default: "a", HasDefault: true, Allowed: []string{"<+x>"}},
		`<+<+pipeline.name> == "a" ? <+input> : "x">`:       {},
		`<+<+pipeline.name>=="a"?<+input>:x>`:               {},
		`<+cond ? "x" : <+input>>`:                          {},
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			if !expr.IsRuntimeInput(text) {
				t.Error("IsRuntimeInput is false")
			}
			got, err := expr.ParseInput(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestParseInputRefuses(t *testing.T) { // semantics/pipeline §2.1
	t.Parallel()
	for text, want := range map[string]string{
		`<+input>.default()`:                        "is empty",
		`<+input>.allowedValues()`:                  "is empty",
		`<+input>.default(a`:                        `")" is missing`,
		`<+input>.default(a).default(b)`:            "twice",
		`<+input>.executionInput(x)`:                "takes no argument",
		`<+input>.regex(()`:                         "regular expression",
		`<+input>.default(a).foo()`:                 "unknown suffix .foo()",
		`<+input>.default(a).allowedValues(b,c)`:    `"a" isn't one of b, c`, // semantics/pipeline §14.37
		`<+input>.default(a).selectOneFrom(b)`:      `"a" isn't one of b`,
		`<+input>.default(a,x).selectManyFrom(a,b)`: `"x" isn't one of a, b`,
		`<+input>.default(ab).regex(a)`:             "doesn't match",
		`<+input>.foo(a)`:                           "is expected",
		`x<+input>`:                                 "isn't a runtime input",
		`<+pipeline.name>`:                          "isn't a runtime input",
	} {
		if _, err := expr.ParseInput(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}

func TestIsRuntimeInput(t *testing.T) { // semantics/pipeline §2.1: the whole scalar
	t.Parallel()
	for text, want := range map[string]bool{
		"":                       false,
		"x":                      false,
		"<+input>":               true,
		"<+input>.default(x)":    true,
		"<+input>.default(":      true, // a runtime input that is wrong
		"a<+input>":              false,
		"<+input>b":              false,
		"<+input> b":             false,
		"<+input><+input>":       false,
		"<+pipeline.name>":       false,
		"<+input.x>":             false,
		`<+"<+input>">`:          false,
		`<+a ? <+input> : 1> x`:  false,
		`<+a ? f(<+input>) : 1>`: false,
		`<+a + <+input>>`:        false,
	} {
		if got := expr.IsRuntimeInput(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestInputCheck(t *testing.T) { // semantics/pipeline §2.1 and §14.37
	t.Parallel()
	for _, c := range []struct {
		input, value string
		one, many    bool // accepted by Check, by CheckMany
	}{
		{`<+input>`, "anything", true, true},
		{`<+input>.allowedValues(b,c)`, "b", true, true},
		{`<+input>.allowedValues(b,c)`, "d", false, false},
		{`<+input>.allowedValues(b,c)`, "b,c", false, true},
		{`<+input>.allowedValues(b,c)`, "b, c", false, true},
		{`<+input>.allowedValues(b,c)`, "b,d", false, false},
		{`<+input>.allowedValues(b,c)`, "<+pipeline.name>", true, true}, // known later
		{`<+input>.allowedValues(\'x,y\',c)`, "x,y", true, true},
		{`<+input>.selectOneFrom(b,c)`, "b,c", false, false},
		{`<+input>.selectManyFrom(b,c)`, "b,c", true, true},
		{`<+input>.selectManyFrom(b,c)`, "", false, false},
		{`<+input>.regex(v\d+)`, "v12", true, true},
		{`<+input>.regex(v\d+)`, "xv12", false, false}, // all of it
		{`<+input>.regex(a|ab)`, "ab", true, true},
		{`<+input>.allowedValues(a,b).regex(b)`, "a", false, false},
	} {
		in, err := expr.ParseInput(c.input)
		if err != nil {
			t.Fatal(err)
		}
		if err := in.Check(c.value); (err == nil) != c.one {
			t.Errorf("%s Check(%q): got %v, want accepted %v", c.input, c.value, err, c.one)
		}
		if err := in.CheckMany(c.value); (err == nil) != c.many {
			t.Errorf("%s CheckMany(%q): got %v, want accepted %v", c.input, c.value, err, c.many)
		}
	}
}
