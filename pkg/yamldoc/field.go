package yamldoc

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
)

// Field is a value that keeps its place. It is either a value or the text of
// an expression, never both: where Expr isn't empty, Value is zero.
type Field[T any] struct {
	Value T
	Expr  string // the whole scalar, when it holds <+...>
	At    Pos
	Set   bool // the key is there and not null
}

// Or is the field's value, or another if it isn't set.
func (f Field[T]) Or(other T) T {
	if !f.Set {
		return other
	}
	return f.Value
}

// scalar begins the decoding of a scalar; false when there is nothing to
// decode: absent, of the wrong kind, or an expression.
func scalar[T any](r *Report, v Value, want string) (Field[T], bool) {
	f := Field[T]{At: v.Pos(r)}
	if v.Null() {
		return f, false
	}
	if !v.Is(Scalar) {
		r.Errorf(v, "WRONG_TYPE", "found %s; want %s", kindName(v.Node), want)
		return f, false
	}
	f.Set = true
	if !r.resolved && strings.Contains(v.Node.Value, "<+") {
		f.Expr = v.Node.Value
		r.expression(v)
		return f, false
	}
	return f, true
}

// expression reports what is wrong with the syntax of a value's expressions.
func (r *Report) expression(v Value) {
	switch text := strings.TrimSpace(v.Node.Value); {
	case expr.IsRuntimeInput(text) || strings.HasPrefix(text, "<+input>"):
		if _, err := expr.ParseInput(text); err != nil {
			r.Errorf(v, "BAD_INPUT", "%s", err)
		}
		return
	case strings.Contains(text, "<+input>"):
		r.Errorf(v, "BAD_INPUT", "<+input> must be the whole value; found it in %q", shorten(text))
		return
	}
	r.problems(v, expr.Check(v.Node.Value))
}

func (r *Report) problems(v Value, problems []expr.Problem) {
	for _, p := range problems {
		severity := Error
		if p.Warning {
			severity = Warning
		}
		r.add(severity, v.Pos(r), "BAD_EXPRESSION", "%s (at character %d of %q)", p.Message, p.Offset+1, shorten(v.Node.Value))
	}
}

// Body decodes a text that as a whole is an expression, with or without
// <+...> (semantics/pipeline §3.1). It is always the field's Expr.
func (r *Report) Body(v Value) Field[string] {
	f := Field[string]{At: v.Pos(r)}
	r.Takes(v, UseBody)
	switch {
	case v.Null():
		return f
	case !v.Is(Scalar):
		r.Errorf(v, "WRONG_TYPE", "found %s; want an expression", kindName(v.Node))
		return f
	}
	f.Set, f.Expr = true, v.Node.Value
	if expr.IsRuntimeInput(f.Expr) {
		r.expression(v)
		return f
	}
	r.problems(v, expr.CheckBody(f.Expr))
	return f
}

// String decodes a text. Numbers and booleans are texts too.
func (r *Report) String(v Value) Field[string] {
	r.Takes(v, UseString)
	f, ok := scalar[string](r, v, "a text")
	if ok {
		f.Value = v.Node.Value
	}
	return f
}

// Bool decodes a boolean, which may be written as a text.
func (r *Report) Bool(v Value) Field[bool] {
	r.Takes(v, UseBool)
	f, ok := scalar[bool](r, v, "true or false")
	if !ok {
		return f
	}
	switch strings.ToLower(v.Node.Value) {
	case "true":
		f.Value = true
	case "false", "":
	default:
		r.Errorf(v, "WRONG_TYPE", "found %s; want true or false", kindName(v.Node))
	}
	return f
}

// Int decodes a whole number, which may be written as a text.
func (r *Report) Int(v Value) Field[int] {
	r.Takes(v, UseInt)
	f, ok := scalar[int](r, v, "a whole number")
	if !ok {
		return f
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.Node.Value))
	if err != nil {
		r.Errorf(v, "WRONG_TYPE", "found %s; want a whole number", kindName(v.Node))
	}
	f.Value = n
	return f
}

// Enum decodes one of a set of words, case included.
func (r *Report) Enum(v Value, words ...string) Field[string] {
	f := r.String(v)
	r.Takes(v, UseEnum, words...)
	if !f.Set || f.Expr != "" || slices.Contains(words, f.Value) {
		return f
	}
	r.Errorf(v, "WRONG_VALUE", "found %q; want one of %s%s", shorten(f.Value), strings.Join(words, ", "), r.Hint(f.Value, words))
	return f
}

// Duration decodes a time such as "1h 30m" (semantics/pipeline §1.4).
func (r *Report) Duration(v Value) Field[time.Duration] {
	r.Takes(v, UseDuration)
	f, ok := scalar[time.Duration](r, v, "a duration")
	if !ok || v.Node.Value == "" {
		f.Set = f.Expr != ""
		return f
	}
	d, err := ParseDuration(v.Node.Value)
	if err != nil {
		r.Errorf(v, "WRONG_VALUE", "%s", err)
	} else if d < 10*time.Second || strings.HasSuffix(v.Node.Value, "ms") {
		r.Warnf(v, "SHORT_DURATION", "Harness takes no time below 10s and no milliseconds; Slipway uses %s", d)
	}
	f.Value = d
	return f
}

// Strings decodes a list of texts. One expression may stand for the whole
// list; it is then the field's Expr.
func (r *Report) Strings(v Value) Field[[]string] {
	r.Takes(v, UseStrings)
	if v.Is(Scalar) {
		s, _ := scalar[[]string](r, v, "a list")
		if s.Set && s.Expr == "" {
			r.Errorf(v, "WRONG_TYPE", "found %s; want a list", kindName(v.Node))
		}
		return s
	}
	f := Field[[]string]{At: v.Pos(r), Set: !v.Null()}
	for item := range r.List(v) {
		if s := r.String(item); s.Set {
			f.Value = append(f.Value, item.Node.Value)
		}
	}
	return f
}

// StringMap decodes a mapping of texts; a null is an empty text.
func (r *Report) StringMap(v Value) Field[map[string]string] {
	r.Takes(v, UseStringMap)
	f := Field[map[string]string]{At: v.Pos(r), Set: !v.Null()}
	if !v.Is(Mapping) {
		s, ok := scalar[map[string]string](r, v, "a mapping")
		if ok {
			r.Errorf(v, "WRONG_TYPE", "found %s; want a mapping", kindName(v.Node))
		}
		return s
	}
	f.Value = map[string]string{}
	for e := range r.Mapping(v) {
		r.String(e)
		if e.Is(Scalar) {
			f.Value[e.Key] = e.Node.Value
		} else {
			f.Value[e.Key] = ""
		}
	}
	return f
}
