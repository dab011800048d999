package expr_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/expr"
)

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		v    expr.Value
		want string
	}{
		{expr.Value{}, "null"},
		{expr.Null(), "null"},
		{expr.Bool(true), "true"},
		{expr.Bool(false), "false"},
		{expr.Int(-3), "-3"},
		{expr.Int(math.MaxInt64), "9223372036854775807"},
		{expr.Float(3), "3"},
		{expr.Float(1.50), "1.5"},
		{expr.Float(0.1), "0.1"},
		{expr.Float(1e20), "100000000000000000000"},
		{expr.Float(1e21), "1e+21"},
		{expr.Float(1e-7), "1e-07"},
		{expr.String("a\"<b>"), "a\"<b>"},
		{expr.List([]expr.Value{expr.Int(1), expr.String("a\"<b>&\n"), expr.Null()}), `[1,"a\"<b>&\n",null]`},
		{expr.List(nil), "[]"},
		{expr.Map(map[string]expr.Value{"b": expr.Int(1), "a": expr.StatusOf("Success")}), `{"a":"SUCCEEDED","b":1}`},
		{expr.Object(expr.Member{Key: "b", Value: expr.Int(1)}, expr.Member{Key: "a"}, expr.Member{Key: "b", Value: expr.Int(2)}), `{"b":2,"a":null}`},
		{expr.SecretRef("{{x}}"), "{{x}}"},
	} {
		if got := c.v.Text(); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`null`, `true`, `1`, `-1.5`, `"a"`, `[]`, `{}`, `{"z":1,"a":[{"b":null},2,"x<y>"],"m":{"n":{}}}`, `9223372036854775807`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`,
	} {
		v, err := expr.FromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, v.Text()); text != `"a"` && diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var again expr.Value
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(v, again); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	for _, text := range []string{``, `{`, `[1`, `{"a"}`, `{"a":}`, `1 2`, `nope`, strings.Repeat("[", 300)} {
		if v, err := expr.FromJSON([]byte(text)); err == nil {
			t.Errorf("%.20q: got %s, want an error", text, v.Text())
		}
	}
	if _, err := expr.Float(math.NaN()).MarshalJSON(); err == nil {
		t.Error("NaN as JSON: want an error")
	}
}

func TestFromAny(t *testing.T) {
	t.Parallel()
	type pair struct {
		A int      `json:"a"`
		B []string `json:"b"`
	}
	got := expr.FromAny(map[string]any{
		"nil": nil, "bool": true, "int": 3, "uint8": uint8(4), "f32": float32(0.5), "s": "x", "list": []any{1, "a"},
		"strings": []string{"p"}, "struct": pair{1, []string{"q"}}, "value": expr.StatusOf("Failed"), "chan": make(chan int),
		"number": json.Number("12"), "big": json.Number("1e400"), "u64": uint64(math.MaxUint64),
	})
	want := `{"big":"1e400","bool":true,"chan":null,"f32":0.5,"int":3,"list":[1,"a"],"nil":null,"number":12,"s":"x",` +
		`"strings":["p"],"struct":{"a":1,"b":["q"]},"u64":18446744073709552000,"uint8":4,"value":"FAILED"}`
	if diff := cmp.Diff(want, got.Text()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	m := expr.Object(expr.Member{Key: "k", Value: expr.Int(1)})
	if v, ok := m.Field("k"); !ok || !v.Equal(expr.Float(1)) {
		t.Errorf("Field: got %v, %v", v, ok)
	}
	if _, ok := expr.String("x").Field("k"); ok {
		t.Error("a string has a field")
	}
	if i, ok := expr.Float(2).Int(); i != 2 || !ok {
		t.Errorf("Float(2).Int: got %d, %v", i, ok)
	}
	for _, v := range []expr.Value{expr.Float(2.5), expr.Float(math.Inf(1)), expr.Float(1e19), expr.String("2"), expr.Bool(true)} {
		if _, ok := v.Int(); ok {
			t.Errorf("%s is an integer", v.Text())
		}
	}
	if _, ok := expr.Int(1).Bool(); ok {
		t.Error("1 is a boolean")
	}
	if m.Len() != 1 || len(m.Keys()) != 1 || len(m.Items()) != 1 || expr.String("x").Len() != 0 || expr.Null().Keys() != nil {
		t.Error("Len, Keys or Items is wrong")
	}
	for _, pair := range [][2]expr.Value{{expr.Int(1), expr.String("1")}, {expr.Null(), expr.Bool(false)}, {m, expr.Object()}, {expr.Bool(true), expr.Bool(false)}} {
		if pair[0].Equal(pair[1]) {
			t.Errorf("%s equals %s", pair[0].Text(), pair[1].Text())
		}
	}
	if v := expr.ParseNumber(" 12 "); !v.Equal(expr.Int(12)) {
		t.Errorf("ParseNumber: got %s", v.Text())
	}
	if v := expr.ParseNumber("12 apples"); v.Kind() != expr.KindString {
		t.Errorf("ParseNumber: got %s", v.Kind())
	}
}
