package expr

import (
	"errors"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// ErrUnknown is what a Scope answers for a name that doesn't exist. An error
// that wraps it may say more; its text becomes the reason.
var ErrUnknown = errors.New("unknown name")

// Unresolved is the error of an expression that names nothing
// (semantics/pipeline §3.5). Its fault code is UNRESOLVED_EXPRESSION.
type Unresolved struct {
	Expression string // the path, e.g. "pipeline.variables.region"
	Reason     string
	Offset     int // of the path in the text, in bytes
	cause      error
}

func (e *Unresolved) Error() string {
	return fmt.Sprintf("expression <+%s> at offset %d can't be resolved: %s", e.Expression, e.Offset, e.Reason)
}

// Unwrap gives the error with the fault code.
func (e *Unresolved) Unwrap() []error {
	code := fault.New(fault.UnresolvedExpression, "%s", e.Error())
	if e.cause == nil {
		return []error{code}
	}
	return []error{code, e.cause}
}

// positioned is an error at a place of the text. Boundaries turn it into a
// fault that shows the text around it.
type positioned struct {
	offset int
	code   fault.Code
	err    error
}

func (e *positioned) Error() string { return e.err.Error() }
func (e *positioned) Unwrap() error { return e.err }

func failAt(offset int, format string, args ...any) error {
	return &positioned{offset: offset, code: fault.Invalid, err: fmt.Errorf(format, args...)}
}

func tooLarge(format string, args ...any) error {
	return &positioned{offset: -1, code: fault.TooLarge, err: fmt.Errorf(format, args...)}
}

// at gives an error of this package a place unless it has one.
func at(offset int, err error) error {
	var p *positioned
	var u *Unresolved
	switch {
	case errors.As(err, &u):
		return err
	case errors.As(err, &p):
		if p.offset < 0 {
			p.offset = offset
		}
		return err
	}
	return &positioned{offset: offset, code: fault.Invalid, err: err}
}

// fromScope gives an error of a Scope a place; its code stays.
func fromScope(offset int, err error) error {
	return &positioned{offset: offset, code: fault.CodeOf(err), err: err}
}

// export makes the error that callers see: a fault that says where in the
// text it happened.
func export(text string, err error) error {
	if err == nil {
		return nil
	}
	var u *Unresolved
	var p *positioned
	switch {
	case errors.As(err, &u):
		return err
	case errors.As(err, &p):
		e := fault.New(p.code, "expression at offset %d (%s): %w", max(p.offset, 0), excerpt(text, p.offset), err)
		if cause := (*fault.Error)(nil); errors.As(p.err, &cause) {
			e.Failures = cause.Failures
		}
		return e
	}
	return err
}

// excerpt is the text around an offset, for messages.
func excerpt(text string, offset int) string {
	const before, after = 20, 30
	offset = min(max(offset, 0), len(text))
	from, to := max(offset-before, 0), min(offset+after, len(text))
	cut := text[from:to]
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(text) {
		cut += "…"
	}
	return fmt.Sprintf("%q", cut)
}
