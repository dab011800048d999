package expr_test

import "testing"

func TestStringMethods(t *testing.T) { // semantics/pipeline §3.3, allow-list, Java's meaning
	t.Parallel()
	evaluate(t, []row{
		{text: `"abc".charAt(1)`, want: `"b"`},
		{text: `"abc".charAt(3)`, err: "the text has 3 characters"},
		{text: `"abc".compareTo("abd")`, want: `-1`},
		{text: `"abc".compareTo("ab")`, want: `1`},
		{text: `"ABC".compareToIgnoreCase("abc")`, want: `0`},
		{text: `"ab".concat("c")`, want: `"abc"`},
		{text: `"abc".contains("bc")`, want: `true`},
		{text: `"abc".endsWith("bc")`, want: `true`},
		{text: `"abc".equals("abc")`, want: `true`},
		{text: `"abc".equals("ABC")`, want: `false`},
		{text: `"abc".equalsIgnoreCase("ABC")`, want: `true`},
		{text: `"hello".hashCode()`, want: `99162322`},
		{text: `"polygenelubricants".hashCode()`, want: `-2147483648`},
		{text: `"abcb".indexOf("b")`, want: `1`},
		{text: `"abcb".indexOf("b", 2)`, want: `3`},
		{text: `"abc".indexOf("x")`, want: `-1`},
		{text: `"abc".indexOf("a", -5)`, want: `0`},
		{text: `"abc".indexOf("a", 99)`, want: `-1`},
		{text: `" \t".isBlank()`, want: `true`},
		{text: `"".isEmpty()`, want: `true`},
		{text: `" ".isEmpty()`, want: `false`},
		{text: `"abcb".lastIndexOf("b")`, want: `3`},
		{text: `"abc".length()`, want: `3`},
		{text: `"ab".repeat(3)`, want: `"ababab"`},
		{text: `"ab".repeat(0)`, want: `""`},
		{text: `"ab".repeat(-1)`, err: "negative"},
		{text: `"a.b.c".replace(".", "-")`, want: `"a-b-c"`}, // plain text, not a pattern
		{text: `"ab".replace("", "-")`, want: `"-a-b-"`},
		{text: `"abc".startsWith("ab")`, want: `true`},
		{text: `"abc".startsWith("b", 1)`, want: `true`},
		{text: `"abc".startsWith("b", 9)`, want: `false`},
		{text: `"  x y ".strip()`, want: `"x y"`},
		{text: `"  x y ".trim()`, want: `"x y"`},
		{text: `"\u00a0x".trim().length()`, want: `2`}, // trim leaves what isn't a control character
		{text: `"\u2003x".strip()`, want: `"x"`},
		{text: `"prod-x".substring(0, 3)`, want: `"pro"`},
		{text: `"prod-x".substring(5)`, want: `"x"`},
		{text: `"prod".substring(4)`, want: `""`},
		{text: `"prod".substring(5)`, err: "out of range"},
		{text: `"prod".substring(2, 1)`, err: "out of range"},
		{text: `"prod".substring("1", "2")`, want: `"r"`},
		{text: `"prod".substring(1.5)`, err: "whole number"},
		{text: `"aBc".toLowerCase()`, want: `"abc"`},
		{text: `"aBc".toUpperCase()`, want: `"ABC"`},
		{text: `"abc".toString()`, want: `"abc"`},
		{text: `7.toString()`, want: `"7"`},
		{text: `true.toString()`, want: `"true"`},
		{text: `1234.length()`, want: `4`},
	})
}

func TestUnicode(t *testing.T) { // offsets count UTF-16 units, as in Java
	t.Parallel()
	interpolate(t, []row{
		{text: `<+pipeline.variables.umlaut.length()>`, want: `5`},
		{text: `<+pipeline.variables.umlaut.substring(2, 4)>`, want: `"öß"`},
		{text: `<+pipeline.variables.umlaut.indexOf("ß")>`, want: `3`},
		{text: `<+pipeline.variables.umlaut.toUpperCase()>`, want: `"GRÖßE"`},
		{text: `<+pipeline.variables.emoji.length()>`, want: `4`},
		{text: `<+pipeline.variables.emoji.substring(3)>`, want: `"b"`},
		{text: `<+pipeline.variables.emoji.indexOf("b")>`, want: `3`},
		{text: `<+pipeline.variables.emoji.split("😀")>`, want: `["a","b"]`},
		{text: `<+"Größe">`, want: `"Größe"`},
	})
}

func TestRegexMethods(t *testing.T) { // semantics/pipeline §3.3: Java semantics
	t.Parallel()
	evaluate(t, []row{
		{text: `"abc".matches("a.c")`, want: `true`},
		{text: `"abcd".matches("a.c")`, want: `false`},
		{text: `"v1.2".replaceAll("v(\\d)\\.(\\d)", "$2-$1")`, want: `"2-1"`},
		{text: `"aab".replaceAll("a", "x")`, want: `"xxb"`},
		{text: `"aab".replaceFirst("a", "x")`, want: `"xab"`},
		{text: `"a.b".replaceAll(".", "x")`, want: `"xxx"`},
		{text: `"a".replaceAll("a", "\\$1")`, want: `"$1"`},
		{text: `"ab".replaceAll("(a)(b)", "$11")`, want: `"a1"`}, // there is no group 11
		{text: `"ab".replaceAll("(?P<x>a)", "${x}${x}")`, want: `"aab"`},
		{text: `"ab".replaceAll("(?<x>a)", "${x}!")`, want: `"a!b"`},
		{text: `"ab".replaceAll("a", "$0$0")`, want: `"aab"`},
		{text: `"ab".replaceAll("a", "$1")`, err: "$ isn't followed"},
		{text: `"ab".replaceAll("a", "$")`, err: "$ isn't followed"},
		{text: `"ab".replaceAll("a", "${x}")`, err: `no group "x"`},
		{text: `"ab".replaceAll("(a)|b", "[$1]")`, want: `"[a][]"`},
		{text: `"ab".replaceAll("", "-")`, want: `"-a-b-"`},
		{text: `"a,b,,c,,".split(",")`, want: `["a","b","","c"]`}, // no empty texts at the end
		{text: `"a,b,,c,,".split(",", -1)`, want: `["a","b","","c","",""]`},
		{text: `"a,b,c".split(",", 2)`, want: `["a","b,c"]`},
		{text: `",a".split(",")`, want: `["","a"]`},
		{text: `"".split(",")`, want: `[""]`},
		{text: `"abc".split(",")`, want: `["abc"]`},
		{text: `",".split(",")`, want: `[]`},
		{text: `"abc".split("")`, want: `["a","b","c"]`},
		{text: `"a1b22c".split("\\d+")`, want: `["a","b","c"]`},
		{text: `"a|b".split("|")`, want: `["a","|","b"]`}, // a pattern: nothing or nothing
		{text: `"a|b".split("\\|")`, want: `["a","b"]`},
		{text: `"a | b".split('\s*\|\s*')`, want: `["a","b"]`},
		{text: `"5.6.0".split('\.')[1]`, want: `"6"`},
		{text: `"a".split("(")`, err: "regular expression"},
		{text: `"a".matches("(?!b)a")`, err: "regular expression"},
	})
}

func TestListMethods(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `[1, 2].get(1)`, want: `2`},
		{text: `[1, 2].get("1")`, want: `2`},
		{text: `[1, 2].get(2)`, err: "out of range"},
		{text: `[1, 2].size()`, want: `2`},
		{text: `[].isEmpty()`, want: `true`},
		{text: `["a", "b"].contains("b")`, want: `true`},
		{text: `["a", "b"].contains("ab")`, want: `false`},
		{text: `[1, 2].contains("2")`, want: `true`},
		{text: `["a", "b"].indexOf("b")`, want: `1`},
		{text: `["a"].indexOf("x")`, want: `-1`},
		{text: `["a", 1, null].join("-")`, want: `"a-1-null"`},
		{text: `["a", "b"].join()`, want: `"a,b"`},
		{text: `[1, "a"].toString()`, want: `"[1,\"a\"]"`},
		{text: `[1, 2].length()`, want: `5`}, // a string method works on the JSON
	})
}

func TestMapMethods(t *testing.T) { // semantics/pipeline §3.3
	t.Parallel()
	evaluate(t, []row{
		{text: `{a: 1}.get("a")`, want: `1`},
		{text: `{a: 1}.get("b")`, want: `null`},
		{text: `{a: 1}.containsKey("a")`, want: `true`},
		{text: `{b: 1, a: 2}.keySet()`, want: `["b","a"]`},
		{text: `{b: 1, a: 2}.values()`, want: `[1,2]`},
		{text: `{a: 1}.size()`, want: `1`},
		{text: `{}.isEmpty()`, want: `true`},
		{text: `{a: [1, "x"]}.toString()`, want: `"{\"a\":[1,\"x\"]}"`},
		{text: `<+<+trigger.payload>.contains("k") ? "yes" : "no">`, want: `"yes"`},
		{text: `<+trigger.payload.contains("refs/heads")>`, want: `true`},
	})
}

func TestForbiddenMethods(t *testing.T) { // semantics/pipeline §3.3: no reflection, no null
	t.Parallel()
	evaluate(t, []row{
		{text: `"a".getClass()`, err: `has no method "getClass"`},
		{text: `"a".getClass().forName("x")`, err: `has no method "getClass"`},
		{text: `[1].stream()`, err: `a list has no method "stream"`},
		{text: `{a: 1}.put("b", 2)`, err: `a map has no method "put"`},
		{text: `<+pipeline.variables.v.foo()>`, err: `a string has no method "foo"`},
		{text: `"a".length(1)`, err: "takes 0 arguments; found 1"},
		{text: `"a".substring()`, err: "takes 1 to 2 arguments; found 0"},
		{text: `"a".contains("a", "b")`, err: "takes 1 argument; found 2"},
		{text: `"null".contains(null)`, err: "an argument is null"},
		{text: `"a".replace("a", <+pipeline.variables.nothing>)`, err: "an argument is null"},
		{text: `"null".equals(null)`, want: `false`},
		{text: `<+pipeline.stages.build.status>.equals(null)`, want: `false`},
		{text: `[null].contains(null)`, want: `true`},
		{text: `null.toString()`, err: "is called on null"},
		{text: `<+pipeline.variables.nothing.trim()>`, err: "method trim is called on null"},
		{text: `new("java.io.File")`, err: "no such function"},
	})
}
