package document

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// scalar begins the decoding of a scalar; false when there is nothing to
// decode: absent, of the wrong kind, or an expression.
func scalar[T any](d *Decoder, v yamldoc.Value, want string) (yamldoc.Field[T], bool) {
	f := yamldoc.Field[T]{At: v.Pos(d.Report)}
	if v.Null() {
		return f, false
	}
	if !v.Is(yamldoc.Scalar) {
		d.Errorf(v, WrongType, "found %s; want %s", yamldoc.Found(v.Node), want)
		return f, false
	}
	f.Set, f.Text, f.Must = true, v.Node.Value, v.Node.Must
	if !d.IsResolved() && strings.Contains(v.Node.Value, "<+") {
		f.Expr = v.Node.Value
		d.expression(v)
		return f, false
	}
	return f, true
}

// literal says of a document without expressions that none can stand for what
// isn't a text.
func (d *Decoder) literal(v yamldoc.Value) {
	if d.IsResolved() {
		d.Takes(v, yamldoc.UsePlain)
	}
}

// expression reports what is wrong with the syntax of a value's expressions.
func (d *Decoder) expression(v yamldoc.Value) {
	switch text := strings.TrimSpace(v.Node.Value); {
	case expr.IsRuntimeInput(text) || strings.HasPrefix(text, "<+input>"):
		if _, err := expr.ParseInput(text); err != nil {
			d.Errorf(v, BadInput, "%s", err)
		}
		return
	case strings.Contains(text, "<+input>"):
		d.Errorf(v, BadInput, "<+input> must be the whole value; found it in %q", yamldoc.Shorten(text))
		return
	}
	d.problems(v, expr.Check(v.Node.Value))
}

func (d *Decoder) problems(v yamldoc.Value, problems []expr.Problem) {
	for _, p := range problems {
		say := d.Errorf
		if p.Warning {
			say = d.Warnf
		}
		say(v, BadExpression, "%s (at character %d of %q)", p.Message, p.Offset+1, yamldoc.Shorten(v.Node.Value))
	}
}

// Body decodes a text that as a whole is an expression, with or without
// <+...> (semantics/pipeline §3.1). It is always the field's Expr.
func (d *Decoder) Body(v yamldoc.Value) yamldoc.Field[string] {
	f := yamldoc.Field[string]{At: v.Pos(d.Report)}
	d.Takes(v, yamldoc.UseBody)
	switch {
	case v.Null():
		return f
	case !v.Is(yamldoc.Scalar):
		d.Errorf(v, WrongType, "found %s; want an expression", yamldoc.Found(v.Node))
		return f
	}
	f.Set, f.Expr, f.Text, f.Must = true, v.Node.Value, v.Node.Value, v.Node.Must
	if expr.IsRuntimeInput(f.Expr) {
		d.expression(v)
		return f
	}
	d.problems(v, expr.CheckBody(f.Expr))
	return f
}

// String decodes a text. Numbers and booleans are texts too.
func (d *Decoder) String(v yamldoc.Value) yamldoc.Field[string] {
	d.Takes(v, yamldoc.UseString)
	f, ok := scalar[string](d, v, "a text")
	if ok {
		f.Value = v.Node.Value
	}
	return f
}

// Bool decodes a boolean, which may be written as a text.
func (d *Decoder) Bool(v yamldoc.Value) yamldoc.Field[bool] {
	d.Takes(v, yamldoc.UseBool)
	d.literal(v)
	f, ok := scalar[bool](d, v, "true or false")
	if !ok {
		return f
	}
	switch strings.ToLower(v.Node.Value) {
	case "true":
		f.Value = true
	case "false", "":
	default:
		d.Errorf(v, WrongType, "found %s; want true or false", yamldoc.Found(v.Node))
	}
	return f
}

// Int decodes a whole number, which may be written as a text.
func (d *Decoder) Int(v yamldoc.Value) yamldoc.Field[int] {
	d.Takes(v, yamldoc.UseInt)
	d.literal(v)
	f, ok := scalar[int](d, v, "a whole number")
	if !ok {
		return f
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.Node.Value))
	if err != nil {
		d.Errorf(v, WrongType, "found %s; want a whole number", yamldoc.Found(v.Node))
	}
	f.Value = n
	return f
}

// Enum decodes one of a set of words, case included.
func (d *Decoder) Enum(v yamldoc.Value, words ...string) yamldoc.Field[string] {
	f := d.String(v)
	d.Takes(v, yamldoc.UseEnum, words...)
	if !f.Set || f.Expr != "" || slices.Contains(words, f.Value) {
		return f
	}
	d.Errorf(v, WrongValue, "found %q; want one of %s%s", yamldoc.Shorten(f.Value), strings.Join(words, ", "), d.Hint(f.Value, words))
	return f
}

// Duration decodes a time such as "1h 30m" (semantics/pipeline §1.4).
func (d *Decoder) Duration(v yamldoc.Value) yamldoc.Field[time.Duration] {
	d.Takes(v, yamldoc.UseDuration)
	f, ok := scalar[time.Duration](d, v, "a duration")
	if !ok || v.Node.Value == "" {
		f.Set = f.Expr != ""
		return f
	}
	took, err := yamldoc.ParseDuration(v.Node.Value)
	if err != nil {
		d.Errorf(v, WrongValue, "%s", err)
	} else if took < 10*time.Second || strings.HasSuffix(v.Node.Value, "ms") {
		d.Warnf(v, ShortDuration, "Harness takes no time below 10s and no milliseconds; Slipway uses %s", took)
	}
	f.Value = took
	return f
}

// Strings decodes a list of texts. One expression may stand for the whole
// list; it is then the field's Expr.
func (d *Decoder) Strings(v yamldoc.Value) yamldoc.Field[[]string] {
	d.Takes(v, yamldoc.UseStrings)
	d.literal(v)
	if v.Is(yamldoc.Scalar) {
		s, _ := scalar[[]string](d, v, "a list")
		if s.Set && s.Expr == "" {
			d.Errorf(v, WrongType, "found %s; want a list", yamldoc.Found(v.Node))
		}
		return s
	}
	f := yamldoc.Field[[]string]{At: v.Pos(d.Report), Set: !v.Null()}
	for item := range d.List(v) {
		if s := d.String(item); s.Set {
			f.Value = append(f.Value, item.Node.Value)
		}
	}
	return f
}

// StringMap decodes a mapping of texts; a null is an empty text.
func (d *Decoder) StringMap(v yamldoc.Value) yamldoc.Field[map[string]string] {
	d.Takes(v, yamldoc.UseStringMap)
	d.literal(v)
	f := yamldoc.Field[map[string]string]{At: v.Pos(d.Report), Set: !v.Null()}
	if !v.Is(yamldoc.Mapping) {
		s, ok := scalar[map[string]string](d, v, "a mapping")
		if ok {
			d.Errorf(v, WrongType, "found %s; want a mapping", yamldoc.Found(v.Node))
		}
		return s
	}
	f.Value = map[string]string{}
	for e := range d.Mapping(v) {
		d.String(e)
		if e.Is(yamldoc.Scalar) {
			f.Value[e.Key] = e.Node.Value
		} else {
			f.Value[e.Key] = ""
		}
	}
	return f
}
