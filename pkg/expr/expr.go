// Package expr is the language of <+...> in Harness YAML
// (semantics/pipeline §3): paths, JEXL operators, Java's string methods, and
// functors such as json.select. It parses a text into a Program and evaluates
// that against a Scope.
//
// It is pure: no I/O, no clock, no state between calls. What a name means,
// and functors that read something, are the Scope's business. Evaluation is
// bounded in depth, work and size of the result, and never panics. The result
// of an expression is never read as an expression again.
package expr

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Scope says what names mean where an expression stands.
type Scope interface {
	// Lookup resolves the longest prefix of path that names something, and
	// says how many segments that is; the rest is read as keys of the value.
	// A known node or field without a value is null with all segments
	// consumed; a name that doesn't exist is ErrUnknown, perhaps wrapped
	// (semantics/pipeline §3.5). The path belongs to the program: it mustn't be
	// changed or kept.
	Lookup(path []string) (v Value, n int, err error)
	// Call runs a functor that isn't pure: secrets.getValue,
	// configFile.getAsString, fileStore.getAsString, ... The clock is the
	// functor currentTime without arguments, which gives RFC 3339.
	// A name that isn't a functor is ErrUnknown.
	Call(name string, args []Value) (Value, error)
}

// Interpolate replaces every <+...> of a text by its value's text. If the
// text is nothing but one expression, its value keeps its kind. If a secret
// is in the text, the result is opaque: a Secret whose Text holds the
// placeholder.
func Interpolate(text string, s Scope) (Value, error) {
	if !strings.Contains(text, "<+") {
		return String(text), nil
	}
	p, err := Compile(text)
	if err != nil {
		return Null(), err
	}
	return p.Run(s)
}

// InterpolateKnown is Interpolate for notifications and messages: an
// expression that can't be resolved stays in the text as it was written
// (semantics/pipeline §3.5, item 4).
func InterpolateKnown(text string, s Scope) (Value, error) {
	if !strings.Contains(text, "<+") {
		return String(text), nil
	}
	p, err := Compile(text)
	if err != nil {
		return Null(), err
	}
	return p.run(&evaluator{scope: s, src: text, keep: true})
}

// InterpolateBlank is Interpolate for templates of notifications: an
// expression that can't be resolved, or has no value, is an empty text.
func InterpolateBlank(text string, s Scope) (Value, error) {
	if !strings.Contains(text, "<+") {
		return String(text), nil
	}
	p, err := Compile(text)
	if err != nil {
		return Null(), err
	}
	return p.run(&evaluator{scope: s, src: text, blank: true})
}

// Evaluate evaluates a body: a text that as a whole is an expression with
// <+...> operands, e.g. `<+pipeline.variables.list>.split(',')`.
func Evaluate(body string, s Scope) (Value, error) {
	p, err := CompileBody(body)
	if err != nil {
		return Null(), err
	}
	return p.Run(s)
}

// Condition evaluates a body to a boolean, for `when` (semantics/pipeline §4).
// A blank one is true; unknown names are null, and a null result is false.
func Condition(body string, s Scope) (bool, error) {
	if strings.TrimSpace(body) == "" {
		return true, nil
	}
	p, err := CompileBody(body)
	if err != nil {
		return false, err
	}
	v, err := p.run(&evaluator{scope: s, src: body, lax: true})
	if err != nil {
		return false, err
	}
	if b, ok := v.Bool(); ok {
		return b, nil
	}
	text := strings.TrimSpace(v.text)
	switch {
	case v.IsNull() || v.kind == KindString && strings.EqualFold(text, "false"):
		return false, nil
	case v.kind == KindString && strings.EqualFold(text, "true"):
		return true, nil
	}
	return false, fault.New(fault.Invalid, "the condition %s gives %s; true or false is expected", excerpt(body, 0), v.kind)
}
