package expr

import (
	"errors"
	"strings"
)

// Problem is something wrong in a text that can be known without a Scope.
type Problem struct {
	Offset  int // in bytes
	Message string
	Warning bool // the text works all the same
}

// Check finds every expression of a text that can't be parsed. Runtime inputs
// are ParseInput's business and pass.
func Check(text string) []Problem {
	if !strings.Contains(text, "<+") || IsRuntimeInput(text) {
		return nil
	}
	var problems []Problem
	p := Program{src: text}
	err := p.compile(func(err error) error {
		problems = append(problems, problemOf(err))
		return nil
	})
	if err != nil {
		problems = append(problems, problemOf(err))
	}
	return append(problems, quotes(p.smart)...)
}

// CheckBody does the same for a body.
func CheckBody(body string) []Problem {
	if strings.TrimSpace(body) == "" || IsRuntimeInput(body) {
		return nil
	}
	got, err := parseBody(body)
	if err != nil {
		return []Problem{problemOf(err)}
	}
	return quotes(got.smart)
}

func problemOf(err error) Problem {
	var p *positioned
	if errors.As(err, &p) {
		return Problem{Offset: max(p.offset, 0), Message: p.Error()}
	}
	return Problem{Message: err.Error()}
}

func quotes(offsets []int) []Problem {
	var out []Problem
	for _, at := range offsets {
		out = append(out, Problem{Offset: at, Message: `found a typographic quote; it is read as a plain one`, Warning: true})
	}
	return out
}

// References lists the paths that the expressions of a text name, without
// their methods, as far as they don't depend on other values. It is for
// checks of references when a text is saved; what doesn't parse is left out.
func References(text string) [][]string {
	p := Program{src: text}
	_ = p.compile(func(error) error { return nil })
	var out [][]string
	for _, part := range p.parts {
		if part.expr != nil {
			out = appendReferences(out, part.expr)
		}
	}
	return out
}

func appendReferences(out [][]string, n node) [][]string {
	if p, ok := n.(*path); ok {
		if names := p.known(); len(names) > 0 {
			out = append(out, names)
		}
	}
	for _, c := range children(n) {
		out = appendReferences(out, c)
	}
	return out
}

// known gives the names before the first one that is computed.
func (p *path) known() []string {
	if p.static != nil {
		return append([]string{}, p.static...)
	}
	var names []string
	for _, s := range p.segments {
		name, ok := s.static()
		if !ok {
			break
		}
		names = append(names, name)
	}
	return names
}
