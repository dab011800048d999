package expr_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

func TestJSONSelect(t *testing.T) { // semantics/pipeline §3.4
	t.Parallel()
	const doc = `'{"data":{"attributes":{"version_pins":{"mvn-service://x":"1.2","a":[1,{"n":"two"}]},"ok":true,"n":3.50,"no":null}},"items[0]":"odd"}'`
	evaluate(t, []row{
		{text: `json.select("data.attributes.version_pins.mvn-service://x", ` + doc + `)`, want: `"1.2"`},
		{text: `json.select("data.attributes.ok", ` + doc + `)`, want: `true`},
		{text: `json.select("data.attributes.n", ` + doc + `)`, want: `3.5`},
		{text: `json.select("data.attributes.no", ` + doc + `)`, want: `null`},
		{text: `json.select("data.nope.deeper", ` + doc + `)`, want: `null`},
		{text: `json.select("data.attributes.version_pins.a[1].n", ` + doc + `)`, want: `"two"`},
		{text: `json.select("data.attributes.version_pins.a.1.n", ` + doc + `)`, want: `"two"`},
		{text: `json.select("items[0]", ` + doc + `)`, want: `"odd"`},
		{text: `json.select("$.data.attributes.ok", ` + doc + `)`, want: `true`},
		{text: `json.select("$", '[1]')`, want: `[1]`},
		{text: `json.select("[1].a", '[0,{"a":"x"}]')`, want: `"x"`},
		{text: `json.select("[*].a", '[{"a":1},{"a":2},{}]')`, want: `[1,2]`},
		{text: `json.select("a..n", '{"a":{"n":1,"b":{"n":2}}}')`, want: `[1,2]`},
		{text: `json.select("status", httpResponseBody)`, want: `"UP"`},
		{text: `json.select("a.b", <+pipeline.variables.json>)`, want: `[1,2]`},
		{text: `json.select("name", <+matrix.service>)`, want: `"svc1"`},
		{text: `json.select("a", null)`, want: `null`},
		{text: `json.select("a", "not json")`, err: "isn't JSON"},
		{text: `json.select("a", '{"a":1} x')`, err: "isn't JSON"},
		{text: `json.select("a")`, err: "takes 2 arguments; found 1"},
		{text: `json.select("$[", '{}')`, err: "JsonPath"},
	})
}

func TestJSONPath(t *testing.T) { // semantics/pipeline §3.4, paths that start with $
	t.Parallel()
	const doc = `'{"s":[{"n":"a","p":1,"t":["x"]},{"n":"b","p":2},{"n":"c","p":3,"q":null}],"k k":{"n":"d"},"max":2}'`
	rows := []row{
		{text: "$.s[0].n", want: `"a"`},
		{text: "$['s'][0]['n']", want: `"a"`},
		{text: "$[\\\"k k\\\"].n", want: `"d"`},
		{text: "$.s[-1].n", want: `"c"`},
		{text: "$.s[9].n", want: `null`},
		{text: "$.s[*].n", want: `["a","b","c"]`},
		{text: "$.s.*.n", want: `["a","b","c"]`},
		{text: "$.s[0,2].n", want: `["a","c"]`},
		{text: "$.s[0:2].n", want: `["a","b"]`},
		{text: "$.s[1:].n", want: `["b","c"]`},
		{text: "$.s[:-1].n", want: `["a","b"]`},
		{text: "$.s[-2:].n", want: `["b","c"]`},
		{text: "$.s[5:1].n", want: `[]`},
		{text: "$..n", want: `["a","b","c","d"]`},
		{text: "$.s[0]['n','p']", want: `["a",1]`},
		{text: "$.s[?(@.n == 'b')].p", want: `[2]`},
		{text: "$.s[?(@.n=='b')].p", want: `[2]`},
		{text: "$.s[?@.p > 1].n", want: `["b","c"]`},
		{text: "$.s[?(@.p >= 2 && @.n != 'c')].n", want: `["b"]`},
		{text: "$.s[?(@.p < 2 || @.n == 'c')].n", want: `["a","c"]`},
		{text: "$.s[?(!(@.p < 2))].n", want: `["b","c"]`},
		{text: "$.s[?(@.t)].n", want: `["a"]`},
		{text: "$.s[?(@.q)].n", want: `["c"]`}, // it exists, as null
		{text: "$.s[?(@.q == null)].n", want: `["a","b","c"]`},
		{text: "$.s[?(@.t[0] == 'x')].n", want: `["a"]`},
		{text: "$.s[?(@.n =~ /[ab]/)].n", want: `["a","b"]`},
		{text: "$.s[?(@.p == $.max)].n", want: `["b"]`},
		{text: "$.s[?(@.nope)].n", want: `[]`},
		{text: "$.nope[*]", want: `[]`},
		{text: "$.max.x", want: `null`},
		{text: "$.", err: "a name"},
		{text: "$x", err: "the end"},
		{text: "$[", err: "a name in quotes"},
		{text: "$['a", err: "the closing quote"},
		{text: "$[0", err: `"]"`},
		{text: "$[?(@.a == )]", err: "@, $"},
		{text: "$[?(@.a]", err: `")"`},
		{text: "$[?(@.a =~ /x)]", err: "a closing /"},
	}
	for i := range rows {
		rows[i].text = `json.select("` + rows[i].text + `", ` + doc + `)`
	}
	evaluate(t, rows)
}

func TestJSONFunctors(t *testing.T) { // semantics/pipeline §3.4
	t.Parallel()
	interpolate(t, []row{
		{text: `<+json.object(<+pipeline.variables.json>).a.b>`, want: `[1,2]`},
		{text: `<+json.object(httpResponseBody).status>`, want: `"UP"`},
		{text: `<+json.object(httpResponseBody).nope.deeper>`, want: `null`},
		{text: `<+json.object("[1,2]")[1]>`, want: `2`},
		{text: `<+json.object("nope")>`, err: "isn't JSON"},
		{text: `<+json.list("items", httpResponseBody)>`, want: `[{"n":"a"},{"n":"b"}]`},
		{text: `<+json.list("items", httpResponseBody).get(1).n>`, want: `"b"`},
		{text: `<+json.list("$.items[*].n", httpResponseBody)>`, want: `["a","b"]`},
		{text: `<+json.list("status", httpResponseBody)>`, want: `["UP"]`},
		{text: `<+json.list("nope", httpResponseBody)>`, want: `[]`},
		{text: `<+json.format(<+matrix.service>)>`, want: `"{\"name\":\"svc1\",\"replicas\":2}"`},
		{text: `<+json.format(matrix.service)>`, want: `"{\"name\":\"svc1\",\"replicas\":2}"`},
		{text: `<+json.format("{ \"a\": 1 }")>`, want: `"{\"a\":1}"`},
		{text: `<+json.format("x")>`, want: `"\"x\""`},
		{text: `<+json.format(null)>`, want: `"null"`},
		{text: `<+json.concat("[1]", "[2]")>`, want: `[1,2]`},
		{text: `<+json.concat("{\"a\":1,\"b\":1}", {b: 2})>`, want: `{"a":1,"b":2}`},
		{text: `<+json.concat("a", "b")>`, want: `"ab"`},
		{text: `<+json.length("[1,2,3]")>`, want: `3`},
		{text: `<+json.length(<+trigger.payload.k>)>`, want: `3`},
		{text: `<+json.length("plain")>`, want: `5`},
		{text: `<+json.nope("a")>`, err: "no such function"},
	})
}

func TestXMLSelect(t *testing.T) { // semantics/pipeline §3.4
	t.Parallel()
	evaluate(t, []row{
		{text: `xml.select("/r/i", <+pipeline.variables.xml>)`, want: `"one"`},
		{text: `xml.select("/r/i[2]", <+pipeline.variables.xml>)`, want: `"two"`},
		{text: `xml.select("//i[@id='2']", <+pipeline.variables.xml>)`, want: `"two"`},
		{text: `xml.select("/r/i/@id", <+pipeline.variables.xml>)`, want: `"1"`},
		{text: `xml.select("/r/i[last()]/@id", <+pipeline.variables.xml>)`, want: `"2"`},
		{text: `xml.select("/r/i/text()", <+pipeline.variables.xml>)`, want: `"one"`},
		{text: `xml.select("count(//i)", <+pipeline.variables.xml>)`, want: `2`},
		{text: `xml.select("string(//i[2])", <+pipeline.variables.xml>)`, want: `"two"`},
		{text: `xml.select("//i='one'", <+pipeline.variables.xml>)`, want: `true`},
		{text: `xml.select("//i[2]/preceding-sibling::i", <+pipeline.variables.xml>)`, want: `"one"`},
		{text: `xml.select("//i[.='two']/../@x", "<r x='7'><i>two</i></r>")`, want: `"7"`},
		{text: `xml.select("/r", <+pipeline.variables.xml>)`, want: `"onetwo"`},
		{text: `xml.select("/nope", <+pipeline.variables.xml>)`, want: `null`},
		{text: `xml.select("number(/nope)", <+pipeline.variables.xml>)`, want: `null`},
		{text: `xml.select("//n:a", "<?xml version='1.0' encoding='ISO-8859-1'?><n:r xmlns:n='urn:x'><!-- c --><n:a>&lt;x&gt;</n:a></n:r>")`, want: `"<x>"`},
		{text: `xml.select("//a", "<a><![CDATA[<b>]]></a>")`, want: `"<b>"`},
		{text: `xml.select("/a", null)`, want: `null`},
		{text: `xml.select("//[", "<a/>")`, err: "XPath"},
		{text: `xml.select("", "<a/>")`, err: "XPath"},
		{text: `xml.select("starts-with(1, 2)", "<a/>")`, err: "XPath"},
		{text: `xml.select("/a", "<a>")`, err: "isn't XML"},
		{text: `xml.select("/a", "<a></b>")`, err: "isn't XML"},
		{text: `xml.select("/a", "plain")`, err: "isn't XML"},
		{text: `xml.select("/a", "")`, err: "isn't XML"},
		{text: `xml.select("/a", "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>")`, err: "isn't XML"},
	})
}

func TestOtherFunctors(t *testing.T) { // semantics/pipeline §3.4
	t.Parallel()
	evaluate(t, []row{
		{text: `regex.extract("\\d+", "a12b3")`, want: `"12"`},
		{text: `regex.extract("\\d*", "a12b3")`, want: `"12"`}, // the first that isn't empty
		{text: `regex.extract("x", "abc")`, want: `""`},
		{text: `regex.match("b", "abc")`, want: `true`},
		{text: `regex.match("^b", "abc")`, want: `false`},
		{text: `regex.replace("(a)(b)", "$2$1", "ab-ab")`, want: `"ba-ba"`},
		{text: `regex.extract("null", null)`, err: "an argument is null"},
		{text: `regex.replace("x", null, "x")`, err: "an argument is null"},
		{text: `shell.escapeChars("a'b\"c", "'\"")`, want: `"a\\'b\\\"c"`},
		{text: `shell.escapeChars("a\\b", "\\")`, want: `"a\\\\b"`},
		{text: `shell.escapeChars(null, "x")`, err: "null"},
		{text: `configFile.getAsString("app")`, want: `"content of app"`},
		{text: `<+configFile.getAsString("a_" + <+pipeline.variables.env>)>`, want: `"content of a_dev"`},
		{text: `nope.call(1)`, err: "there is no such function"},
		{text: `nope(1)`, err: "there is no such function"},
		{text: `broken.get_it("x")`, err: "connection refused"},
	})
}

func TestDates(t *testing.T) { // semantics/pipeline §3.4; the clock says 2024-01-31T10:30:00Z
	t.Parallel()
	evaluate(t, []row{
		{text: `currentDate()`, want: `"2024-01-31"`},
		{text: `currentTime()`, want: `"2024-01-31T10:30:00Z"`},
		{text: `<+currentDate().plusDays(1)>`, want: `"2024-02-01"`},
		{text: `currentDate().plusMonths(1)`, want: `"2024-02-29"`}, // the month's last day
		{text: `currentDate().plusYears(1).plusMonths(1)`, want: `"2025-02-28"`},
		{text: `currentDate().plusWeeks(-1)`, want: `"2024-01-24"`},
		{text: `currentDate().plusMonths(-2)`, want: `"2023-11-30"`},
		{text: `currentTime().plusHours(14)`, want: `"2024-02-01T00:30:00Z"`},
		{text: `currentTime().plusMinutes("45").plusSeconds(30)`, want: `"2024-01-31T11:15:30Z"`},
		{text: `currentTime().plusSeconds(31536000)`, want: `"2025-01-30T10:30:00Z"`},
		{text: `currentTime().plusNanos(1500)`, want: `"2024-01-31T10:30:00.0000015Z"`},
		{text: `<+pipeline.variables.date>.plusDays(30)`, want: `"2024-03-01"`},
		{text: `"2024-01-31T10:00:00+02:00".plusDays(1)`, want: `"2024-02-01T10:00:00+02:00"`},
		{text: `"2024-01-31T10:00:00".plusHours(1)`, want: `"2024-01-31T11:00:00"`},
		{text: `currentDate().plusHours(1)`, err: "has no hours"},
		{text: `"x".plusDays(1)`, err: "isn't a date"},
		{text: `currentDate().plusDays(1.5)`, err: "whole number"},
		{text: `currentDate().plusYears(9000)`, err: "year"},
		{text: `currentDate().plusYears(2000000000)`, err: "too far"},
		{text: `currentTime().plusHours(2000000000)`, err: "too far"},
	})
}

func TestScopeErrorsKeepTheirCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]fault.Code{
		`<+gone.get_it("x")>`:   fault.NotFound,
		`<+broken.get_it("x")>`: fault.Internal,
		`<+nope.get_it("x")>`:   fault.UnresolvedExpression,
		`<+1 - "x">`:            fault.Invalid,
		`<+1 +>`:                fault.Invalid,
		`<+nope>`:               fault.UnresolvedExpression,
		`<+"a".repeat(999999)>`: fault.TooLarge,
	} {
		if _, err := expr.Interpolate(text, newScope(t)); fault.CodeOf(err) != want {
			t.Errorf("%s: got %v (%s), want %s", text, err, fault.CodeOf(err), want)
		}
	}
}
