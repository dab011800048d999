package asl

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

func compare(operator string, v, want any) bool {
	switch operator {
	case "IsNull":
		return (v == nil) == want
	case "IsNumeric":
		_, ok := v.(json.Number)
		return ok == want
	case "IsString":
		_, ok := v.(string)
		return ok == want
	case "IsBoolean":
		_, ok := v.(bool)
		return ok == want
	case "IsTimestamp":
		_, ok := timestamp(v)
		return ok == want
	case "BooleanEquals":
		b, ok := v.(bool)
		return ok && b == want
	}
	for _, kind := range []string{"String", "Numeric", "Timestamp"} {
		if op, ok := strings.CutPrefix(operator, kind); ok {
			n, comparable := order(kind, v, want)
			return comparable && fits(op, n)
		}
	}
	return false
}

// order compares two values of a kind; values of another kind don't compare.
func order(kind string, a, b any) (int, bool) {
	switch kind {
	case "String":
		s, ok1 := a.(string)
		t, ok2 := b.(string)
		return cmp.Compare(s, t), ok1 && ok2
	case "Numeric":
		x, ok1 := numeric(a)
		y, ok2 := numeric(b)
		return cmp.Compare(x, y), ok1 && ok2
	}
	x, ok1 := timestamp(a)
	y, ok2 := timestamp(b)
	return x.Compare(y), ok1 && ok2
}

func numeric(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// timestamp reads a time of RFC 3339 with a capital T, and a capital Z where
// there is no offset. Go's parser takes a bit more.
func timestamp(v any) (time.Time, bool) {
	text, ok := v.(string)
	if !ok || len(text) < len("2006-01-02T15:04:05Z") || text[10] != 'T' || text[13] != ':' || strings.Contains(text, ",") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	return t, err == nil
}

func fits(op string, n int) bool {
	switch op {
	case "Equals":
		return n == 0
	case "LessThan":
		return n < 0
	case "LessThanEquals":
		return n <= 0
	case "GreaterThan":
		return n > 0
	case "GreaterThanEquals":
		return n >= 0
	}
	return false
}

// match compares with a pattern in which * stands for anything, \* for itself
// and \\ for a backslash. A backslash before anything else is an error.
func match(v, want any) (bool, *Failure) {
	text, ok := v.(string)
	pattern, isText := want.(string)
	if !isText {
		return false, nil
	}
	parts := []string{""}
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*':
			parts = append(parts, "")
			continue
		case '\\':
			if i++; i == len(pattern) || pattern[i] != '*' && pattern[i] != '\\' {
				return false, &Failure{Name: errRuntime, Cause: "StringMatches: the pattern " + pattern + " has an open escape backslash"}
			}
		}
		parts[len(parts)-1] += pattern[i : i+1]
	}
	return ok && matches(parts, text), nil
}

// matches says whether a text is the parts with anything between them. The
// first place that a part fits is as good as any other.
func matches(parts []string, text string) bool {
	first, end := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == first
	}
	if len(text) < len(first)+len(end) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, end) {
		return false
	}
	text = text[len(first) : len(text)-len(end)]
	for _, p := range parts[1 : len(parts)-1] {
		i := strings.Index(text, p)
		if i < 0 {
			return false
		}
		text = text[i+len(p):]
	}
	return true
}
