package expr_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/expr"
)

func TestArithmetic(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `1 + 2 * 3`, want: `7`},
		{text: `(1 + 2) * 3`, want: `9`},
		{text: `10 - 2 - 3`, want: `5`},
		{text: `7 / 2`, want: `3`},
		{text: `-7 / 2`, want: `-3`},
		{text: `7.0 / 2`, want: `3.5`},
		{text: `7 div 2`, want: `3`},
		{text: `7 % 3`, want: `1`},
		{text: `7 mod 3`, want: `1`},
		{text: `7.5 % 2`, want: `1.5`},
		{text: `-(2 + 3)`, want: `-5`},
		{text: `- -2`, want: `2`},
		{text: `+"5"`, want: `5`},
		{text: `2e3 + 1.5`, want: `2001.5`},
		{text: `7L + 1`, want: `8`},
		{text: `100 - <+matrix.weight>`, want: `70`},
		{text: `"10" - 3`, want: `7`},
		{text: `"10" * "3"`, want: `30`},
		{text: `"1.5" + 1`, want: `2.5`},
		{text: `9223372036854775807 + 1`, want: `9223372036854775808`},
		{text: `9223372036854775807 * 2`, want: `18446744073709551614`},
		{text: `(0 - 9223372036854775807 - 1) % -1`, want: `0`},
		{text: `(0 - 9223372036854775807 - 1) / -1`, want: `9223372036854775808`},
		{text: `1 / 0`, err: "division by zero"},
		{text: `1 % 0`, err: "division by zero"},
		{text: `1.5 / 0`, err: "divided by zero"},
		{text: `1e8000`, err: "too large"},
		{text: `"1e8000" - 1`, err: "isn't a number"},
		{text: `1e308 * 1e308`, err: "isn't a number"},
		{text: `"abc" - 1`, err: "left of -"},
		{text: `1 * "abc"`, err: "right of *"},
		{text: `1 - [1]`, err: "a list"},
		{text: `-"x"`, err: "isn't a number"},
		{text: `1 - <+pipeline.variables.nothing>`, err: "null"},
		{text: `"inf" - 1`, err: "isn't a number"},
		{text: `"0x10" - 1`, err: "isn't a number"},
		{text: `"1_000" - 1`, err: "isn't a number"},
	})
}

func TestPlus(t *testing.T) { // semantics/pipeline §3.3: adds or concatenates
	t.Parallel()
	evaluate(t, []row{
		{text: `"a" + "b"`, want: `"ab"`},
		{text: `"1" + "2"`, want: `"12"`},
		{text: `"1" + 2`, want: `3`},
		{text: `1 + "2"`, want: `3`},
		{text: `"a" + 1`, want: `"a1"`},
		{text: `1 + "a"`, want: `"1a"`},
		{text: `"a" + true`, want: `"atrue"`},
		{text: `"a" + 1.0`, want: `"a1"`},
		{text: `"" + [1, 2]`, want: `"[1,2]"`},
		{text: `"s=" + <+pipeline.stages.build.status>`, want: `"s=SUCCEEDED"`},
		{text: `"a" + null`, err: "null"},
		{text: `<+pipeline.variables.nothing> + 1`, err: "null"},
	})
}

func TestConcatenationForms(t *testing.T) { // semantics/pipeline §3.3: forms that must all work
	t.Parallel()
	interpolate(t, []row{
		{text: `<+pipeline.variables.v> <+pipeline.variables.env>`, want: `"ABC dev"`},
		{text: `us/<+pipeline.variables.env>/x`, want: `"us/dev/x"`},
		{text: `<+<+pipeline.variables.v> + "_s">`, want: `"ABC_s"`},
		{text: `<+<+pipeline.variables.v>+"_s">`, want: `"ABC_s"`},
		{text: `<+<+pipeline.variables.v>.concat("_s")>`, want: `"ABC_s"`},
		{text: `<+"https://h/"+<+pipeline.variables.v>>`, want: `"https://h/ABC"`},
		{text: `<+ <+<+pipeline.variables.v> + "," + <+pipeline.variables.env>>.split(",")>`, want: `["ABC","dev"]`},
		{text: `<+(100 - <+matrix.weight>)>`, want: `70`},
		{text: `<+100 - <+matrix.weight>>`, want: `70`},
		{text: `<+<+pipeline.variables.v> + <+stage.variables.s>>`, want: `"ABC_s"`},
		{text: `<+"a".concat(<+pipeline.variables.n>)>`, want: `"a2"`},
		{text: `<+"a".concat(<+pipeline.variables.nothing>)>`, err: "null"},
	})
}

func TestComparison(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `1 == 1.0`, want: `true`},
		{text: `"1" == 1`, want: `true`},
		{text: `"1.0" == 1`, want: `true`},
		{text: `"1" == "1.0"`, want: `false`},
		{text: `"a" == 1`, want: `false`},
		{text: `"a" == "a"`, want: `true`},
		{text: `"a" == "A"`, want: `false`},
		{text: `"a" eq "a" and 1 ne 2`, want: `true`},
		{text: `3 gt 2 and 2 ge 2 and 1 lt 2 and 2 le 2`, want: `true`},
		{text: `<+pipeline.variables.five> > <+pipeline.variables.three>`, want: `true`},
		{text: `"10" > "9"`, want: `true`}, // as numbers
		{text: `"5" > 3`, want: `true`},
		{text: `"b" > "a"`, want: `true`},
		{text: `"10" > "9a"`, want: `false`}, // as text
		{text: `[1, "2"] == ["1", 2]`, want: `true`},
		{text: `{a: 1} == {"a": "1"}`, want: `true`},
		{text: `{a: 1} == {a: 2}`, want: `false`},
		{text: `{a: 1} == {b: 1}`, want: `false`},
		{text: `[1, 2] == [1]`, want: `false`},
		{text: `[1, 2] == "[1,2]"`, want: `true`},
		{text: `9223372036854775807 == 9223372036854775806`, want: `false`},
		// booleans
		{text: `true == "true"`, want: `true`},
		{text: `true == "abc"`, want: `true`},
		{text: `true == "false"`, want: `false`},
		{text: `true == ""`, want: `false`},
		{text: `false == ""`, want: `true`},
		{text: `<+pipeline.variables.textTrue> == true`, want: `true`},
		{text: `<+pipeline.variables.textTrue> == "true"`, want: `true`},
		{text: `<+pipeline.variables.yes> == "true"`, want: `true`},
		{text: `<+pipeline.variables.no> != "true"`, want: `true`},
		{text: `1 == true`, want: `true`},
		// null
		{text: `null == null`, want: `true`},
		{text: `null == "x"`, want: `false`},
		{text: `null != "x"`, want: `true`},
		{text: `null == "null"`, want: `false`},
		{text: `null == false`, want: `false`},
		{text: `null == ""`, want: `false`},
		{text: `<+pipeline.variables.nothing> == null`, want: `true`},
		{text: `<+pipeline.variables.nothing>!=null`, want: `false`},
		{text: `null > 1`, want: `false`},
		{text: `null < 1`, want: `false`},
		{text: `null <= null`, want: `true`},
		{text: `null < null`, want: `false`},
	})
}

func TestLogic(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `true && false || true`, want: `true`},
		{text: `true || true && false`, want: `true`},
		{text: `true or false and false`, want: `true`},
		{text: `!true`, want: `false`},
		{text: `not true`, want: `false`},
		{text: `not (1 == 2)`, want: `true`},
		{text: `!(1 == 2) && !false`, want: `true`},
		{text: `!!"x"`, want: `true`},
		{text: `!null`, want: `true`},
		{text: `!0`, want: `true`},
		{text: `!"false"`, want: `true`},
		{text: `!""`, want: `true`},
		{text: `![] && ![] == true`, want: `true`},
		{text: `1 == 1 && "a" =~ "a"`, want: `true`},
		{text: `false && <+nope>`, want: `false`}, // the right side isn't evaluated
		{text: `true || <+nope>`, want: `true`},
		{text: `true && <+nope>`, err: "nope"},
		{text: `1 < 2 == true`, want: `true`},
	})
}

func TestTernary(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `true ? 1 : 2`, want: `1`},
		{text: `true?1:2`, want: `1`},
		{text: `false ? 1 : true ? 2 : 3`, want: `2`},
		{text: `true ? false ? 1 : 2 : 3`, want: `2`},
		{text: `1 == 2 ? "a" : "b"`, want: `"b"`},
		{text: `true ? 1 : <+nope>`, want: `1`},
		{text: `false ? <+nope> : 1`, want: `1`},
		{text: `true ? "a:b" : "c"`, want: `"a:b"`},
		{text: `true ? matrix.weight:matrix.service`, want: `30`},
		{text: `"" ?: "x"`, want: `"x"`},
		{text: `"a" ?: "x"`, want: `"a"`},
		{text: `null ?: false ?: 3`, want: `3`},
		{text: `null ?? "x"`, want: `"x"`},
		{text: `"" ?? "x"`, want: `""`},
		{text: `<+pipeline.variables.nothing> ?? "d"`, want: `"d"`},
		{text: `[1] ? "some" : "none"`, want: `"some"`},
		{text: `(true ? "a" : "b") + "c"`, want: `"ac"`},
		{text: `<+pipeline.variables.nothing>?.trim()`, want: `null`},
		{text: `<+pipeline.variables.v>?.toLowerCase()`, want: `"abc"`},
		{text: `true?.5:1`, err: `a value is expected`},
		{text: `<+pipeline.variables.nothing> != null ? <+pipeline.variables.nothing>.trim() : "none"`, want: `"none"`},
	})
}

func TestMatchOperators(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `"abc" =~ "a.c"`, want: `true`},
		{text: `"xabc" =~ "a.c"`, want: `false`}, // the whole text
		{text: `"abc" !~ "a.c"`, want: `false`},
		{text: `"abc" =~ "a|abc"`, want: `true`},
		{text: `"b" =~ ["a", "b"]`, want: `true`},
		{text: `"c" !~ ["a", "b"]`, want: `true`},
		{text: `"2" =~ [1, 2]`, want: `true`},
		{text: `2 =~ 1..3`, want: `true`},
		{text: `"k" =~ {k: 1}`, want: `true`},
		{text: `"b" =~ {"a", "b"}`, want: `true`},
		{text: `null =~ "x"`, want: `false`},
		{text: `null =~ [null]`, want: `true`},
		{text: `<+pipeline.stages.build.status> =~ ["SUCCESS", "FAILED"]`, want: `true`},
		{text: `"abc" =^ "ab"`, want: `true`},
		{text: `"abc" !^ "ab"`, want: `false`},
		{text: `"abc" =$ "bc"`, want: `true`},
		{text: `"abc" !$ "x"`, want: `true`},
		{text: `null =^ "a"`, want: `false`},
		{text: `<+trigger.payload.ref> =^ "refs/heads"`, want: `true`},
		{text: `"a" =~ "("`, err: "regular expression"},
		{text: `"a" =~ "a)(b"`, err: "regular expression"},
		{text: `"a" =~ "(?=a)"`, err: "regular expression"},
	})
}

func TestLiterals(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `[]`, want: `[]`},
		{text: `[1, [2, "x"], null]`, want: `[1,[2,"x"],null]`},
		{text: `{}`, want: `{}`},
		{text: `{:}`, want: `{}`},
		{text: `{a: 1, "b c": [2], 'd': {e: null}}`, want: `{"a":1,"b c":[2],"d":{"e":null}}`},
		{text: `{1, 2, 1, "x"}`, want: `[1,2,"x"]`},
		{text: `{"k<+pipeline.variables.n>": true}`, want: `{"k2":true}`},
		{text: `1..4`, want: `[1,2,3,4]`},
		{text: `3..1`, want: `[3,2,1]`},
		{text: `1..1 + 1`, want: `[1,2]`},
		{text: `1 .. "3"`, want: `[1,2,3]`},
		{text: `1..2.5`, err: "whole numbers"},
		{text: `empty("")`, want: `true`},
		{text: `empty([])`, want: `true`},
		{text: `empty({})`, want: `true`},
		{text: `empty(null)`, want: `true`},
		{text: `empty(0)`, want: `true`},
		{text: `empty(" ")`, want: `false`},
		{text: `empty(false)`, want: `false`},
		{text: `empty <+pipeline.variables.empty>`, want: `true`},
		{text: `not empty <+pipeline.variables.v>`, want: `true`},
		{text: `not empty(<+pipeline.variables.v>) and true`, want: `true`},
		{text: `size("abc")`, want: `3`},
		{text: `size([1, 2])`, want: `2`},
		{text: `size({a: 1})`, want: `1`},
		{text: `size(null)`, want: `0`},
		{text: `size(1)`, err: "a number has no size"},
		{text: `[1, 2, 3][1]`, want: `2`},
		{text: `[1, 2, 3]["1"]`, want: `2`},
		{text: `{a: 1}["a"]`, want: `1`},
		{text: `{a: {b: 2}}.a.b`, want: `2`},
		{text: `{a: 1}.b`, want: `null`},
		{text: `{a: 1}[<+"a">]`, want: `1`},
		{text: `[1][1]`, err: "the list has 1 elements"},
		{text: `[1][-1]`, err: "out of range"},
		{text: `[1]["x" + ""]`, err: "isn't a number"},
		{text: `null[0]`, want: `null`},
		{text: `null.a`, want: `null`},
		{text: `"abc"[0]`, err: "has no"},
		{text: `empty()`, err: "takes 1 argument"},
	})
}

func TestStatus(t *testing.T) { // semantics/pipeline §3.7
	t.Parallel()
	evaluate(t, []row{
		{text: `<+pipeline.stages.build.status>`, want: `"SUCCEEDED"`},
		{text: `<+pipeline.stages.build.status> == "SUCCEEDED"`, want: `true`},
		{text: `<+pipeline.stages.build.status> == "SUCCESS"`, want: `true`},
		{text: `<+pipeline.stages.build.status> == "Success"`, want: `true`},
		{text: `"success" == <+pipeline.stages.build.status>`, want: `true`},
		{text: `<+pipeline.stages.build.status> != "FAILED"`, want: `true`},
		{text: `<+pipeline.stages.build.status>.equals("success")`, want: `true`},
		{text: `<+pipeline.stages.build.status.toString()>`, want: `"SUCCEEDED"`},
		{text: `<+strategy.node.get("canary").currentStatus> == "SUCCEEDED"`, want: `true`},
		{text: `<+<+strategy.node>.get("canary").currentStatus>`, want: `"SUCCESS"`},
		{text: `<+pipeline.stages.build.status> == null`, want: `false`},
		{text: `<+pipeline.stages.build.status> ? 1 : 2`, want: `1`},
	})
	for name, want := range map[string]string{
		"Success": "SUCCEEDED", "SUCCESS": "SUCCESS", "IgnoreFailed": "IGNORE_FAILED", "ApprovalWaiting": "APPROVAL_WAITING",
		"FAILED": "FAILED", "IGNORE_FAILED": "IGNORE_FAILED", "": "",
	} {
		if got := expr.StatusOf(name).Text(); got != want {
			t.Errorf("StatusOf(%q) prints %q, want %q", name, got, want)
		}
	}
	s := newScope(t)
	for text, want := range map[string]bool{
		"IGNORE_FAILED": true, "IgnoreFailed": true, "ignore_failed": true, "Failed": false,
	} {
		root := expr.Object(expr.Member{Key: "s", Value: expr.StatusOf("IgnoreFailed")})
		s.root = root
		if got, err := expr.Condition(`<+s> == "`+text+`"`, s); err != nil || got != want {
			t.Errorf("IgnoreFailed == %q: got %v, %v, want %v", text, got, err, want)
		}
	}
}
