package expr

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
)

// maxJSONDepth bounds the nesting of JSON that is read, and with it the
// recursion over values.
const maxJSONDepth = 200

// Text is the value as it stands in an interpolated text: null is "null",
// whole numbers have no decimals, lists and maps are compact JSON and a secret
// is its placeholder (semantics/pipeline §3.1, §3.3).
func (v Value) Text() string {
	switch v.kind {
	case KindString, KindStatus, KindSecret:
		return v.text
	case KindNull:
		return "null"
	case KindBool, KindNumber, KindList, KindMap:
	}
	return string(v.appendJSON(nil))
}

// MarshalJSON gives compact JSON, with keys in their order and secrets as
// their placeholders.
func (v Value) MarshalJSON() ([]byte, error) {
	if f, ok := v.Float(); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return nil, fmt.Errorf("JSON has no number %v", f)
	}
	return v.appendJSON(nil), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. Statuses and secrets come back
// as strings: JSON doesn't tell them apart.
func (v *Value) UnmarshalJSON(data []byte) error {
	w, err := FromJSON(data)
	*v = w
	return err
}

func (v Value) appendJSON(b []byte) []byte {
	switch v.kind {
	case KindNull:
		return append(b, "null"...)
	case KindBool:
		return strconv.AppendBool(b, v.bits != 0)
	case KindNumber:
		return v.appendNumber(b)
	case KindString, KindStatus, KindSecret:
		return appendQuoted(b, v.text)
	case KindList:
		b = append(b, '[')
		for i, item := range v.Items() {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case KindMap:
		b = append(b, '{')
		for i, key := range v.many.keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendQuoted(b, key), ':')
			b = v.many.values[i].appendJSON(b)
		}
		return append(b, '}')
	}
	return b
}

// appendNumber prints a number without an exponent unless it is huge or tiny.
func (v Value) appendNumber(b []byte) []byte {
	if i, ok := v.Int(); ok && (!v.float || math.Abs(float64(i)) < 1<<53) {
		return strconv.AppendInt(b, i, 10)
	}
	f, _ := v.Float()
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// appendQuoted writes a JSON string; unlike json.Marshal it leaves <, > and &
// alone, because the text ends in scripts and comparisons.
func appendQuoted(b []byte, s string) []byte {
	if plainASCII(s) {
		return append(append(append(b, '"'), s...), '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string can't fail
	return append(b, bytes.TrimRight(buf.Bytes(), "\n")...)
}

func plainASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// FromJSON reads one JSON value. Maps keep the order of their keys, and whole
// numbers that fit are integers.
func FromJSON(data []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := readJSON(dec, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return Null(), err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Null(), errors.New("there is more text after the JSON value")
	}
	return v, nil
}

func readJSON(dec *json.Decoder, depth int) (Value, error) {
	if depth > maxJSONDepth {
		return Null(), fmt.Errorf("JSON is nested deeper than %d", maxJSONDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return Null(), err
	}
	if tok == json.Delim('[') {
		return readList(dec, depth)
	}
	if tok == json.Delim('{') {
		return readMap(dec, depth)
	}
	return FromAny(tok), nil
}

func readList(dec *json.Decoder, depth int) (Value, error) {
	var items []Value
	for dec.More() {
		v, err := readJSON(dec, depth+1)
		if err != nil {
			return Null(), err
		}
		items = append(items, v)
	}
	_, err := dec.Token() // the closing bracket
	return List(items), err
}

func readMap(dec *json.Decoder, depth int) (Value, error) {
	var list []Member
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return Null(), err
		}
		key, _ := tok.(string) // the decoder takes nothing else for a key
		v, err := readJSON(dec, depth+1)
		if err != nil {
			return Null(), err
		}
		list = append(list, Member{key, v})
	}
	_, err := dec.Token() // the closing brace
	return Object(list...), err
}

// FromAny makes a value of what encoding/json or a YAML decoder gives, or of
// anything that encoding/json can encode. What it can't is null.
func FromAny(x any) Value {
	switch x := x.(type) {
	case nil:
		return Null()
	case Value:
		return x
	case bool:
		return Bool(x)
	case string:
		return String(x)
	case json.Number:
		return ParseNumber(x.String())
	case []any:
		items := make([]Value, len(x))
		for i, e := range x {
			items[i] = FromAny(e)
		}
		return List(items)
	case map[string]any:
		m := make(map[string]Value, len(x))
		for k, e := range x {
			m[k] = FromAny(e)
		}
		return Map(m)
	}
	return fromReflect(x)
}

// fromReflect covers the sizes of numbers; the rest goes through JSON.
func fromReflect(x any) Value {
	switch r := reflect.ValueOf(x); {
	case r.CanInt():
		return Int(r.Int())
	case r.CanUint() && r.Uint() <= math.MaxInt64:
		return Int(int64(r.Uint())) //nolint:gosec // checked
	case r.CanFloat():
		return Float(r.Float())
	}
	data, err := json.Marshal(x)
	if err != nil {
		return Null()
	}
	v, err := FromJSON(data)
	if err != nil {
		return Null()
	}
	return v
}
