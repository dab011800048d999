package expr

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Kind says what a Value is.
type Kind uint8

// The kinds of values. The zero Value is null.
const (
	KindNull Kind = iota
	KindBool
	KindNumber
	KindString
	KindList
	KindMap
	KindStatus // a node's status; == and != ignore spelling (semantics/pipeline §3.7)
	KindSecret // an opaque text with placeholders of secrets in it (semantics/pipeline §3.4)
)

// String is the kind's name in messages, e.g. "a list".
func (k Kind) String() string {
	switch k {
	case KindNull:
		return "null"
	case KindBool:
		return "a boolean"
	case KindNumber:
		return "a number"
	case KindString:
		return "a string"
	case KindList:
		return "a list"
	case KindMap:
		return "a map"
	case KindStatus:
		return "a status"
	case KindSecret:
		return "a secret"
	}
	return "unknown"
}

// Value is the typed result of an expression. It is immutable; copying is cheap.
type Value struct {
	kind  Kind
	float bool   // of a number: bits are a float64's, else an int64's
	bits  uint64 // of a boolean or number
	text  string // of a string, status or secret
	many  *members
}

// members are the elements of a list or, with keys, the entries of a map.
type members struct {
	values []Value
	keys   []string       // of a map, in order
	index  map[string]int // of a map with many keys
}

// Member is one entry of a map.
type Member struct {
	Key   string
	Value Value
}

// Null is the value of a known name without a value.
func Null() Value { return Value{} }

// Bool makes a boolean.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, bits: 1}
	}
	return Value{kind: KindBool}
}

// Int makes an integer.
func Int(i int64) Value {
	return Value{kind: KindNumber, bits: uint64(i)} //nolint:gosec // bits, not a count
}

// Float makes a number. One without a fraction is printed like an integer.
func Float(f float64) Value {
	return Value{kind: KindNumber, float: true, bits: math.Float64bits(f)}
}

// String makes a string.
func String(s string) Value { return Value{kind: KindString, text: s} }

// List makes a list; it keeps the slice.
func List(values []Value) Value { return Value{kind: KindList, many: &members{values: values}} }

// Map makes a map whose keys are in alphabetical order.
func Map(m map[string]Value) Value {
	list := make([]Member, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, Member{k, m[k]})
	}
	return Object(list...)
}

// Object makes a map that keeps the order of its members. Of two members with
// one key the later wins.
func Object(list ...Member) Value {
	const indexed = 8 // from here on a hash is quicker than looking at each
	m := &members{keys: make([]string, 0, len(list)), values: make([]Value, 0, len(list))}
	if len(list) > indexed {
		m.index = make(map[string]int, len(list))
	}
	for _, e := range list {
		if i, ok := m.find(e.Key); ok {
			m.values[i] = e.Value
			continue
		}
		if m.index != nil {
			m.index[e.Key] = len(m.keys)
		}
		m.keys = append(m.keys, e.Key)
		m.values = append(m.values, e.Value)
	}
	return Value{kind: KindMap, many: m}
}

func (m *members) find(key string) (int, bool) {
	if m.index != nil {
		i, ok := m.index[key]
		return i, ok
	}
	i := slices.Index(m.keys, key)
	return i, i >= 0
}

// StatusOf makes a status. The API's spelling becomes the one that expressions
// print: "IgnoreFailed" is IGNORE_FAILED and "Success" is SUCCEEDED; a name
// in capitals stays as it is.
func StatusOf(name string) Value {
	if name == "Success" {
		name = "SUCCEEDED"
	}
	return Value{kind: KindStatus, text: upperSnake(name)}
}

func upperSnake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToUpper(r))
	}
	return b.String()
}

// SecretRef makes an opaque handle of a secret. The placeholder is what texts
// hold in the secret's place.
func SecretRef(placeholder string) Value { return Value{kind: KindSecret, text: placeholder} }

// ParseNumber reads a decimal number; a text that isn't one stays a string.
// An integer beyond int64 becomes a float.
func ParseNumber(s string) Value {
	if v, ok := parseNumber(s); ok {
		return v
	}
	return String(s)
}

func parseNumber(s string) (Value, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.Trim(s, "0123456789+-.eE") != "" || !strings.ContainsAny(s, "0123456789") {
		return Value{}, false // strconv would also take inf, nan, 0x1 and 1_000
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return Int(i), true
	}
	f, err := strconv.ParseFloat(s, 64)
	return Float(f), err == nil
}

// Kind says what the value is.
func (v Value) Kind() Kind { return v.kind }

// IsNull says whether the value is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Bool gives a boolean; ok is false for other kinds.
func (v Value) Bool() (b, ok bool) { return v.bits != 0 && v.kind == KindBool, v.kind == KindBool }

// Int gives a number that is whole; ok is false for other values.
func (v Value) Int() (i int64, ok bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	if !v.float {
		return int64(v.bits), true //nolint:gosec // bits, not a count
	}
	f := math.Float64frombits(v.bits)
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return 0, false
	}
	return int64(f), true
}

// Float gives a number; ok is false for other kinds.
func (v Value) Float() (f float64, ok bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	if v.float {
		return math.Float64frombits(v.bits), true
	}
	return float64(int64(v.bits)), true //nolint:gosec // bits, not a count
}

// Len is the number of elements of a list or of entries of a map, else 0.
func (v Value) Len() int {
	if v.many == nil {
		return 0
	}
	return len(v.many.values)
}

// Items gives the elements of a list or the values of a map. The caller must
// not change them.
func (v Value) Items() []Value {
	if v.many == nil {
		return nil
	}
	return v.many.values
}

// Keys gives the keys of a map, in order. The caller must not change them.
func (v Value) Keys() []string {
	if v.many == nil {
		return nil
	}
	return v.many.keys
}

// Field gives the value under a key of a map.
func (v Value) Field(key string) (Value, bool) {
	if v.kind != KindMap {
		return Value{}, false
	}
	i, ok := v.many.find(key)
	if !ok {
		return Value{}, false
	}
	return v.many.values[i], true
}

// Equal says whether two values are the same in kind and content; numbers are
// compared as numbers. It is stricter than the language's ==.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.text != w.text {
		return false
	}
	switch v.kind {
	case KindNumber:
		return compareNumbers(v, w) == 0
	case KindBool:
		return v.bits == w.bits
	case KindList:
		return slices.EqualFunc(v.Items(), w.Items(), Value.Equal)
	case KindMap:
		return v.equalMap(w, Value.Equal)
	case KindNull, KindString, KindStatus, KindSecret:
	}
	return true
}

// equalMap compares two maps without regard to order.
func (v Value) equalMap(w Value, equal func(a, b Value) bool) bool {
	if v.Len() != w.Len() {
		return false
	}
	for i, k := range v.Keys() {
		x, ok := w.Field(k)
		if !ok || !equal(v.many.values[i], x) {
			return false
		}
	}
	return true
}

// Secret says whether the value is a secret or has one in it.
func (v Value) Secret() bool {
	return v.kind == KindSecret || v.many != nil && slices.ContainsFunc(v.many.values, Value.Secret)
}
