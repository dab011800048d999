package asl

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const data = `{"s":"b","n":3,"t":true,"z":null,"at":"2026-01-02T03:04:05Z","list":[1,{"k":"v"}],"o":{"a b":1}}`

func parsed(t *testing.T, text string) any {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	context := func() any { return parsed(t, `{"Task":{"Token":"tok"}}`) }
	tests := []struct{ name, template, want string }{
		{"a path", `{"x.$":"$.n"}`, `{"x":3}`},
		{"the whole", `{"x.$":"$.list"}`, `{"x":[1,{"k":"v"}]}`},
		{"an index and a key", `{"x.$":"$.list[1].k"}`, `{"x":"v"}`},
		{"a key in brackets", `{"x.$":"$.o['a b']"}`, `{"x":1}`},
		{"the context", `{"x.$":"$$.Task.Token"}`, `{"x":"tok"}`},
		{"what is written out stays", `{"x":{"y":["$.n"]}}`, `{"x":{"y":["$.n"]}}`},
		{"Format", `{"x.$":"States.Format('{}-{}', $.s, $.n)"}`, `{"x":"b-3"}`},
		{"nested calls", `{"x.$":"States.ArrayLength(States.Array($.s, 'it\\'s', 2))"}`, `{"x":3}`},
		{"ArrayGetItem", `{"x.$":"States.ArrayGetItem($.list, 0)"}`, `{"x":1}`},
		{"JsonToString", `{"x.$":"States.JsonToString($.o)"}`, `{"x":"{\"a b\":1}"}`},
		{"StringToJson", `{"x.$":"States.StringToJson('[1]')"}`, `{"x":[1]}`},
		{"JsonMerge", `{"x.$":"States.JsonMerge($.o, $.list[1], false)"}`, `{"x":{"a b":1,"k":"v"}}`},
		{"MathAdd", `{"x.$":"States.MathAdd($.n, -1)"}`, `{"x":2}`},
		{"what isn't there", `{"x.$":"$.nope"}`, `States.Runtime`},
		{"a function that fails", `{"x.$":"States.MathAdd($.s, 1)"}`, `States.IntrinsicFailure`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var tmpl template
			if err := json.Unmarshal([]byte(tt.template), &tmpl); err != nil {
				t.Fatal(err)
			}
			v, f := tmpl.apply(parsed(t, data), context)
			got := string(encode(v))
			if f != nil {
				got = f.Name
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestChoices(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		`{"Variable":"$.s","StringEquals":"b"}`:                                                 true,
		`{"Variable":"$.s","StringLessThan":"c"}`:                                               true,
		`{"Variable":"$.s","StringGreaterThanEquals":"c"}`:                                      false,
		`{"Variable":"$.s","StringMatches":"*"}`:                                                true,
		`{"Variable":"$.at","StringMatches":"2026-*T03*Z"}`:                                     true,
		`{"Variable":"$.s","StringMatches":"\\*"}`:                                              false,
		`{"Variable":"$.n","NumericEquals":3}`:                                                  true,
		`{"Variable":"$.n","NumericLessThanEqualsPath":"$.list[0]"}`:                            false,
		`{"Variable":"$.n","StringEquals":"3"}`:                                                 false,
		`{"Variable":"$.t","BooleanEquals":true}`:                                               true,
		`{"Variable":"$.z","IsNull":true}`:                                                      true,
		`{"Variable":"$.nope","IsPresent":false}`:                                               true,
		`{"Variable":"$.s","IsPresent":true}`:                                                   true,
		`{"Variable":"$.n","IsNumeric":true}`:                                                   true,
		`{"Variable":"$.n","IsString":true}`:                                                    false,
		`{"Variable":"$.t","IsBoolean":true}`:                                                   true,
		`{"Variable":"$.at","IsTimestamp":true}`:                                                true,
		`{"Variable":"$.at","TimestampLessThan":"2026-01-02T04:04:05+01:00"}`:                   false,
		`{"Variable":"$.at","TimestampGreaterThan":"2026-01-01T00:00:00Z"}`:                     true,
		`{"And":[{"Variable":"$.n","NumericEquals":3},{"Variable":"$.t","IsNull":true}]}`:       false,
		`{"Or":[{"Variable":"$.n","NumericEquals":4},{"Variable":"$.t","BooleanEquals":true}]}`: true,
		`{"Not":{"Variable":"$.n","NumericEquals":4}}`:                                          true,
	}
	for rule, want := range tests {
		var c choice
		if err := json.Unmarshal([]byte(rule), &c); err != nil {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if got, f := c.holds(parsed(t, data), nil); f != nil || got != want {
			t.Errorf("%s is %v, %v; want %v", rule, got, f, want)
		}
	}
}

func TestResultPath(t *testing.T) {
	t.Parallel()
	tests := []struct{ path, want string }{
		{`"$"`, `"r"`}, {`"$.new.deep"`, `{"a":1,"new":{"deep":"r"}}`}, {`"$.a"`, `{"a":"r"}`},
	}
	for _, tt := range tests {
		var p path
		if err := json.Unmarshal([]byte(tt.path), &p); err != nil {
			t.Fatal(err)
		}
		in := parsed(t, `{"a":1}`)
		v, f := p.put(in, "r")
		if got := string(encode(v)); f != nil || got != tt.want {
			t.Errorf("%s gave %s, %v; want %s", tt.path, got, f, tt.want)
		}
		if diff := cmp.Diff(`{"a":1}`, string(encode(in))); diff != "" {
			t.Errorf("%s changed its input (-want +got):\n%s", tt.path, diff)
		}
	}
}

// What isn't supported is refused when a definition is loaded, by its place.
func TestRefused(t *testing.T) {
	t.Parallel()
	one := func(state string) string { return `{"StartAt":"A","States":{"A":` + state + `}}` }
	tests := []struct{ name, definition, want string }{
		{"an unknown type", one(`{"Type":"Magic","End":true}`), `state A: the type "Magic" isn't supported`},
		{"a field of another type", one(`{"Type":"Pass","Seconds":1,"End":true}`), "state A: a Pass state: Seconds: no such field here"},
		{"JSONata", `{"QueryLanguage":"JSONata","StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, "QueryLanguage"},
		{"a time-out of the whole", `{"TimeoutSeconds":1,"StartAt":"A","States":{"A":{"Type":"Succeed"}}}`, "TimeoutSeconds"},
		{"another resource", one(`{"Type":"Task","Resource":"arn:aws:states:::sqs:sendMessage","Parameters":{},"End":true}`), "sqs:sendMessage"},
		{"a distributed map", one(`{"Type":"Map","ItemProcessor":{"ProcessorConfig":{"Mode":"DISTRIBUTED"},"StartAt":"B","States":{"B":{"Type":"Succeed"}}},"End":true}`), "DISTRIBUTED"},
		{"an unknown function", one(`{"Type":"Pass","Parameters":{"x.$":"States.Hash($.a, 'MD5')"},"End":true}`), "States.Hash isn't supported"},
		{"a wildcard", one(`{"Type":"Pass","InputPath":"$.a[*]","End":true}`), "isn't supported"},
		{"no way on", one(`{"Type":"Pass"}`), "either Next or End is needed"},
		{"a way to nowhere", one(`{"Type":"Pass","Next":"B"}`), `no state "B" to go to`},
		{"a start that isn't there", `{"StartAt":"B","States":{"A":{"Type":"Succeed"}}}`, `no state "B" to start at`},
		{"an unknown operator", one(`{"Type":"Choice","Choices":[{"Variable":"$.a","StringLike":"x","Next":"A"}]}`), "StringLike: no such field here"},
		{"a strategy of jitter", one(`{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{},"Retry":[{"ErrorEquals":["States.ALL"],"JitterStrategy":"SOME"}],"End":true}`), "JitterStrategy"},
		{"two times to wait", one(`{"Type":"Wait","Seconds":1,"Timestamp":"2026-01-02T03:04:05Z","End":true}`), "exactly one of Seconds"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse("m", []byte(tt.definition), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v; want one about %s", err, tt.want)
			}
		})
	}
}
