package expr_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
)

const secret = `<+secrets.getValue("db")>`

func TestSecretsStayOpaque(t *testing.T) { // semantics/pipeline §3.4
	t.Parallel()
	for text, want := range map[string]string{
		secret:                                                  "{{db}}",
		"password=" + secret + "!":                              "password={{db}}!",
		`<+"p=" + ` + secret + `>`:                              "p={{db}}",
		`<+` + secret + ` + "x" + "y">`:                         "{{db}}xy",
		`<+` + secret + `.concat("x")>`:                         "{{db}}x",
		`<+"x".concat(` + secret + `)>`:                         "x{{db}}",
		`<+"x ` + secret + ` y">`:                               "x {{db}} y",
		`<+true ? ` + secret + ` : "x">`:                        "{{db}}",
		`<+null ?? ` + secret + `>`:                             "{{db}}",
		`<+null ?: ` + secret + `>`:                             "{{db}}",
		`<+[` + secret + `].toString()>`:                        `["{{db}}"]`,
		`<+["a", ` + secret + `].join("-")>`:                    `a-{{db}}`,
		`x<+{p: ` + secret + `}>`:                               `x{"p":"{{db}}"}`,
		`<+{p: ` + secret + `}.p>`:                              "{{db}}",
		`<+[` + secret + `][0]>`:                                "{{db}}",
		`<+secrets.getValue("a_" + <+pipeline.variables.env>)>`: "{{a_dev}}",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			v, err := expr.Interpolate(text, newScope(t))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, v.Text()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if v.Kind() != expr.KindSecret {
				t.Errorf("got %s, want a secret", v.Kind())
			}
		})
	}
}

func TestSecretsAreOnlySplicedIn(t *testing.T) { // semantics/pipeline §3.4: any other operation is an error
	t.Parallel()
	var rows []row
	for _, text := range []string{
		`s == "x"`, `s != null`, `"x" == s`, `s =~ "x"`, `s =~ ["x"]`, `"x" =~ [s]`, `s =^ "x"`, `s > 1`, `s - 1`, `-s`, `!s`, `s && true`,
		`true && s`, `s ? 1 : 2`, `s ?: 1`, `s..3`, `s.length()`, `s.substring(0, 1)`, `s.toString()`, `s.equals("x")`, `s.split("")`,
		`"x".equals(s)`, `"x".replace("x", s)`, `s[0]`, `s.field`, `s.get(0)`, `{a: 1}[s]`, `{a: 1}.get(s)`, `[1].contains(s)`, `[s].contains("x")`,
		`[s].indexOf("x")`, `[s] == ["x"]`, `{p: s} == {p: "x"}`, `[s].length()`, `{p: s}.contains("x")`, `{s: 1}[s]`, `empty(s)`, `size(s)`,
		`json.select("a", s)`, `json.format({p: s})`, `regex.extract("x", s)`, `shell.escapeChars(s, "x")`, `configFile.getAsString(s)`,
		`secrets.getValue(s)`, `("p" + s).length()`, `"<+secrets.getValue("db")>".length()`, `pipeline.variables.<+secrets.getValue("db")>`,
		`{a: 1}.<+secrets.getValue("db")>`,
	} {
		rows = append(rows, row{text: replaceSecret(text), err: "secret"})
	}
	evaluate(t, rows)
}

// replaceSecret puts a secret in the place of the variable s.
func replaceSecret(text string) string {
	out := make([]byte, 0, len(text)+len(secret))
	for i := range len(text) {
		before, after := i == 0 || !letter(text[i-1]), i+1 == len(text) || !letter(text[i+1])
		if text[i] == 's' && before && after && (i+1 == len(text) || text[i+1] != ':') {
			out = append(out, secret...)
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '<' || c == '"' }

func TestSecretsNeverConvertToConditions(t *testing.T) {
	t.Parallel()
	if ok, err := expr.Condition(secret, newScope(t)); ok || err == nil {
		t.Errorf("got %v, %v, want an error", ok, err)
	}
}
