package expr

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// stringMethod finds a method of Java's String. Offsets and lengths count
// UTF-16 units, as they do there.
func stringMethod(name string) (methodFunc, bool) {
	switch name {
	case "charAt":
		return methodFunc{1, 1, charAt}, true
	case "substring":
		return methodFunc{1, 2, substring}, true
	case "indexOf":
		return methodFunc{1, 2, indexOf}, true
	case "lastIndexOf":
		return text1(func(s, t string) Value { return lastIndexOf(s, t) }), true
	case "length":
		return text0(func(s string) Value { return Int(int64(length(s))) }), true
	case "hashCode":
		return text0(hashCode), true
	case "compareTo":
		return text1(compareTo), true
	case "compareToIgnoreCase":
		return text1(func(s, t string) Value { return compareTo(strings.ToLower(s), strings.ToLower(t)) }), true
	case "equals":
		return text1(func(s, t string) Value { return Bool(s == t) }), true
	case "equalsIgnoreCase":
		return text1(func(s, t string) Value { return Bool(strings.EqualFold(s, t)) }), true
	case "contains":
		return text1(func(s, t string) Value { return Bool(strings.Contains(s, t)) }), true
	case "startsWith":
		return methodFunc{1, 2, startsWith}, true
	case "endsWith":
		return text1(func(s, t string) Value { return Bool(strings.HasSuffix(s, t)) }), true
	case "isEmpty":
		return text0(func(s string) Value { return Bool(s == "") }), true
	case "isBlank":
		return text0(func(s string) Value { return Bool(strings.TrimSpace(s) == "") }), true
	case "toString":
		return text0(String), true
	case "toLowerCase":
		return text0(func(s string) Value { return String(strings.ToLower(s)) }), true
	case "toUpperCase":
		return text0(func(s string) Value { return String(strings.ToUpper(s)) }), true
	case "trim": // all control characters, unlike strip
		return text0(func(s string) Value { return String(strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })) }), true
	case "strip":
		return text0(func(s string) Value { return String(strings.TrimFunc(s, unicode.IsSpace)) }), true
	}
	if m, ok := patternMethod(name); ok {
		return m, true
	}
	return dateMethod(name)
}

// patternMethod finds the methods that search, replace or repeat.
func patternMethod(name string) (methodFunc, bool) {
	switch name {
	case "concat":
		return methodFunc{1, 1, func(e *evaluator, on Value, args []Value) (Value, error) { return e.concat(on, args[0]) }}, true
	case "repeat":
		return methodFunc{1, 1, repeat}, true
	case "replace":
		return methodFunc{2, 2, replace}, true
	case "matches":
		return methodFunc{1, 1, func(e *evaluator, on Value, args []Value) (Value, error) {
			ok, err := e.fullMatch(args[0].Text(), on.text)
			return Bool(ok), err
		}}, true
	case "replaceAll":
		return methodFunc{2, 2, func(e *evaluator, on Value, args []Value) (Value, error) {
			s, err := e.replaceRegex(on.text, args[0].Text(), args[1].Text(), -1)
			return String(s), err
		}}, true
	case "replaceFirst":
		return methodFunc{2, 2, func(e *evaluator, on Value, args []Value) (Value, error) {
			s, err := e.replaceRegex(on.text, args[0].Text(), args[1].Text(), 1)
			return String(s), err
		}}, true
	case "split":
		return methodFunc{1, 2, split}, true
	}
	return methodFunc{}, false
}

// text0 is a method without arguments.
func text0(f func(s string) Value) methodFunc {
	return methodFunc{0, 0, func(_ *evaluator, on Value, _ []Value) (Value, error) { return f(on.text), nil }}
}

// text1 is a method with one text as its argument.
func text1(f func(s, t string) Value) methodFunc {
	return methodFunc{1, 1, func(e *evaluator, on Value, args []Value) (Value, error) {
		t, err := e.text(args[0])
		return f(on.text, t), err
	}}
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func length(s string) int {
	if ascii(s) {
		return len(s)
	}
	return len(units(s))
}

// cut is s[from:to] in UTF-16 units. The caller has checked the bounds.
func cut(s string, from, to int) string {
	if ascii(s) {
		return s[from:to]
	}
	return string(utf16.Decode(units(s)[from:to]))
}

// intArg reads a whole number that fits 32 bits, as Java's methods take.
func intArg(v Value) (int, error) {
	n, err := operand(v)
	if err != nil {
		return 0, err
	}
	i, ok := n.Int()
	if !ok || i != int64(int32(i)) { //nolint:gosec // that is the check
		return 0, fmt.Errorf("found %s; a whole number is expected", n.Text())
	}
	return int(i), nil
}

func charAt(_ *evaluator, on Value, args []Value) (Value, error) {
	i, err := intArg(args[0])
	if err != nil {
		return Null(), err
	}
	if n := length(on.text); i < 0 || i >= n {
		return Null(), fmt.Errorf("index %d is out of range: the text has %d characters", i, n)
	}
	return String(cut(on.text, i, i+1)), nil
}

func substring(_ *evaluator, on Value, args []Value) (Value, error) {
	n := length(on.text)
	from, err := intArg(args[0])
	if err != nil {
		return Null(), err
	}
	to := n
	if len(args) == 2 {
		if to, err = intArg(args[1]); err != nil {
			return Null(), err
		}
	}
	if from < 0 || from > to || to > n {
		return Null(), fmt.Errorf("range %d to %d is out of range: the text has %d characters", from, to, n)
	}
	return String(cut(on.text, from, to)), nil
}

func indexOf(e *evaluator, on Value, args []Value) (Value, error) {
	t, err := e.text(args[0])
	if err != nil {
		return Null(), err
	}
	from := 0
	if len(args) == 2 {
		if from, err = intArg(args[1]); err != nil {
			return Null(), err
		}
	}
	n := length(on.text)
	from = min(max(from, 0), n)
	rest := cut(on.text, from, n)
	i := strings.Index(rest, t)
	if i < 0 {
		return Int(-1), nil
	}
	return Int(int64(from + length(rest[:i]))), nil
}

func lastIndexOf(s, t string) Value {
	i := strings.LastIndex(s, t)
	if i < 0 {
		return Int(-1)
	}
	return Int(int64(length(s[:i])))
}

func startsWith(_ *evaluator, on Value, args []Value) (Value, error) {
	from := 0
	if len(args) == 2 {
		var err error
		if from, err = intArg(args[1]); err != nil {
			return Null(), err
		}
	}
	n := length(on.text)
	if from < 0 || from > n {
		return Bool(false), nil
	}
	return Bool(strings.HasPrefix(cut(on.text, from, n), args[0].Text())), nil
}

func hashCode(s string) Value {
	var h int32
	for _, u := range units(s) {
		h = 31*h + int32(u)
	}
	return Int(int64(h))
}

// compareTo is the difference of the first units that differ, or of lengths.
func compareTo(s, t string) Value {
	a, b := units(s), units(t)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return Int(int64(a[i]) - int64(b[i]))
		}
	}
	return Int(int64(len(a) - len(b)))
}

func repeat(e *evaluator, on Value, args []Value) (Value, error) {
	n, err := intArg(args[0])
	if err != nil {
		return Null(), err
	}
	if n < 0 {
		return Null(), fmt.Errorf("%d times is negative", n)
	}
	if err := e.made(-1, len(on.text)*n); err != nil {
		return Null(), err
	}
	return String(strings.Repeat(on.text, n)), nil
}

// replace replaces plain text; nothing is found between any two characters.
func replace(e *evaluator, on Value, args []Value) (Value, error) {
	old, with := args[0].Text(), args[1].Text()
	grown := len(on.text) + strings.Count(on.text, old)*max(len(with)-len(old), 0)
	if err := e.made(-1, grown); err != nil {
		return Null(), err
	}
	return String(strings.ReplaceAll(on.text, old, with)), nil
}

func split(e *evaluator, on Value, args []Value) (Value, error) {
	limit := 0
	if len(args) == 2 {
		var err error
		if limit, err = intArg(args[1]); err != nil {
			return Null(), err
		}
	}
	list, err := e.splitRegex(on.text, args[0].Text(), limit)
	return List(list), err
}
