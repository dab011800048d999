package document_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// decoded is a field without its place.
type decoded struct {
	Value any
	Expr  string
	Set   bool
}

func decoder[T any](f func(*document.Decoder, yamldoc.Value) yamldoc.Field[T]) func(*document.Decoder, yamldoc.Value) decoded {
	return func(d *document.Decoder, v yamldoc.Value) decoded {
		got := f(d, v)
		return decoded{got.Value, got.Expr, got.Set}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	text := decoder((*document.Decoder).String)
	flag := decoder((*document.Decoder).Bool)
	number := decoder((*document.Decoder).Int)
	duration := decoder((*document.Decoder).Duration)
	words := decoder((*document.Decoder).Strings)
	texts := decoder((*document.Decoder).StringMap)
	body := decoder((*document.Decoder).Body)
	word := decoder(func(d *document.Decoder, v yamldoc.Value) yamldoc.Field[string] { return d.Enum(v, "Branch", "Commit") })
	tests := []struct {
		name   string
		decode func(*document.Decoder, yamldoc.Value) decoded
		yaml   string
		want   decoded
		found  string // part of the one finding
	}{
		{"text", text, "x", decoded{"x", "", true}, ""},
		{"a number is a text", text, "1.50", decoded{"1.50", "", true}, ""},
		{"an empty text is set", text, `""`, decoded{"", "", true}, ""},
		{"null isn't", text, "~", decoded{"", "", false}, ""},
		{"a list is no text", text, "[x]", decoded{"", "", false}, "found a list; want a text [WRONG_TYPE]"},
		{"an expression", text, "a-<+env.name>", decoded{"", "a-<+env.name>", true}, ""},
		{"a broken expression", text, "<+a.b", decoded{"", "<+a.b", true}, "[BAD_EXPRESSION]"},
		{"a runtime input", text, "<+input>.default(x)", decoded{"", "<+input>.default(x)", true}, ""},
		{"a slip in a runtime input", text, "<+input>.defult(x)", decoded{"", "<+input>.defult(x)", true}, "[BAD_INPUT]"},
		{"a runtime input in a text", text, "v<+input>", decoded{"", "v<+input>", true}, "<+input> must be the whole value"},
		{"typographic quotes", text, "<+a.get(“b”)>", decoded{"", "<+a.get(“b”)>", true}, "warning: found a typographic quote"},

		{"bool", flag, "true", decoded{true, "", true}, ""},
		{"bool as text", flag, `"False"`, decoded{false, "", true}, ""},
		{"a blank bool", flag, `""`, decoded{false, "", true}, ""},
		{"no bool", flag, "yes", decoded{false, "", true}, `found "yes"; want true or false`},
		{"bool by expression", flag, "<+input>", decoded{false, "<+input>", true}, ""},

		{"int", number, "3", decoded{3, "", true}, ""},
		{"int as text", number, `" 3 "`, decoded{3, "", true}, ""},
		{"no int", number, "3.5", decoded{0, "", true}, `found "3.5"; want a whole number`},

		{"duration", duration, "1h 30m", decoded{90 * time.Minute, "", true}, ""},
		{"a blank duration is none", duration, `""`, decoded{time.Duration(0), "", false}, ""},
		{"a short duration", duration, "5s", decoded{5 * time.Second, "", true}, "warning: Harness takes no time below 10s"},
		{"milliseconds", duration, "10500ms", decoded{11 * time.Second, "", true}, "warning: Harness takes no time below 10s and no milliseconds"},
		{"a number is no duration", duration, "10", decoded{time.Duration(0), "", true}, `"10" isn't a duration`},
		{"duration by expression", duration, "<+a.b>", decoded{time.Duration(0), "<+a.b>", true}, ""},

		{"enum", word, "Branch", decoded{"Branch", "", true}, ""},
		{"enum with a slip", word, "branch", decoded{"branch", "", true}, `want one of Branch, Commit; did you mean "Branch"?`},
		{"enum by expression", word, "<+input>", decoded{"", "<+input>", true}, ""},

		{"list", words, "[a, 1, <+b>]", decoded{[]string{"a", "1", "<+b>"}, "", true}, ""},
		{"an empty list", words, "[]", decoded{[]string(nil), "", true}, ""},
		{"list by expression", words, "<+a.split(',')>", decoded{[]string(nil), "<+a.split(',')>", true}, ""},
		{"a text is no list", words, "a", decoded{[]string(nil), "", true}, "want a list"},

		{"map", texts, "{a: 1, b: }", decoded{map[string]string{"a": "1", "b": ""}, "", true}, ""},
		{"a list is no map", texts, "[a]", decoded{map[string]string(nil), "", false}, "want a mapping"},

		{"body", body, "<+a> > 0", decoded{"", "<+a> > 0", true}, ""},
		{"a body without brackets", body, `"false"`, decoded{"", "false", true}, ""},
		{"a broken body", body, "<+a> ==", decoded{"", "<+a> ==", true}, "[BAD_EXPRESSION]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			docs, report := yamldoc.Parse("", []byte("key: "+tt.yaml))
			if report.Failed() {
				t.Fatal(findings(report))
			}
			var got decoded
			for e := range report.Mapping(yamldoc.Root(docs[0])) {
				got = tt.decode(document.New(report), e)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			all := strings.Join(findings(report), "\n")
			if (tt.found == "") != (all == "") || !strings.Contains(all, tt.found) || strings.Contains(all, "\n") {
				t.Errorf("found %q; want %q", all, tt.found)
			}
		})
	}
}

func TestAResolvedDocumentHasNoExpressions(t *testing.T) {
	t.Parallel()
	docs, r := yamldoc.Parse("", []byte("text: <+a.b\ncount: <+a.b>\n"))
	d := document.New(r.Resolved())
	var text yamldoc.Field[string]
	for e := range r.Mapping(yamldoc.Sub(docs[0], "")) {
		switch e.Key {
		case "text":
			text = d.String(e)
		case "count":
			d.Int(e)
		}
	}
	if text.Value != "<+a.b" || text.Expr != "" {
		t.Errorf("the text is %+v; want it as it is", text)
	}
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "want a whole number") {
		t.Errorf("a number that reads <+a.b>: %v; want an error", err)
	}
}

func findings(r *yamldoc.Report) []string {
	var out []string
	for _, f := range r.Findings() {
		out = append(out, f.String())
	}
	return out
}
