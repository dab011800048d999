package expr

import (
	"strings"
)

// maxText bounds texts with expressions, in bytes.
const maxText = 4 << 20

// Program is a compiled text or body. It is immutable: any number of
// goroutines may evaluate it.
type Program struct {
	src   string
	parts []part // of a text
	body  node   // of a body, else nil
	smart []int  // offsets of typographic quotes
}

// part is literal text, or an expression with its place in the text.
type part struct {
	text       string
	expr       node
	start, end int
}

// Compile parses a text for Interpolate.
func Compile(text string) (*Program, error) {
	p := &Program{src: text}
	if err := p.compile(func(err error) error { return err }); err != nil {
		return nil, export(text, err)
	}
	return p, nil
}

// compile splits the text at its expressions. failed may go on after a wrong
// one by giving nil.
func (p *Program) compile(failed func(error) error) error {
	text := p.src
	if len(text) > maxText {
		return tooLarge("a text with expressions may have %d bytes; this one has %d", maxText, len(text))
	}
	p.parts = make([]part, 0, 2*strings.Count(text, "<+")+1)
	from := 0
	for {
		i := strings.Index(text[from:], "<+")
		if i < 0 {
			break
		}
		start := from + i
		got, err := parseBracket(text, start)
		if err != nil {
			if err := failed(err); err != nil {
				return err
			}
			got.end, got.node = start+len("<+"), nil
		}
		if i > 0 {
			p.parts = append(p.parts, part{text: text[from:start]})
		}
		if got.node != nil {
			p.parts = append(p.parts, part{expr: got.node, start: start, end: got.end})
		}
		p.smart = append(p.smart, got.smart...)
		from = got.end
	}
	if from < len(text) {
		p.parts = append(p.parts, part{text: text[from:]})
	}
	return nil
}

// CompileBody parses a body for Evaluate and Condition.
func CompileBody(body string) (*Program, error) {
	if len(body) > maxText {
		return nil, export("", tooLarge("an expression may have %d bytes; this one has %d", maxText, len(body)))
	}
	got, err := parseBody(body)
	if err != nil {
		return nil, export(body, err)
	}
	return &Program{src: body, body: got.node, smart: got.smart}, nil
}

// Run evaluates the program: as Interpolate does if it was made by Compile,
// as Evaluate does if it was made by CompileBody.
func (p *Program) Run(s Scope) (Value, error) {
	e := evaluator{scope: s, src: p.src}
	return p.run(&e)
}

func (p *Program) run(e *evaluator) (Value, error) {
	if p.body != nil {
		v, err := e.eval(p.body)
		if err == nil {
			err = e.fits(p.body.pos(), v)
		}
		return v, export(p.src, err)
	}
	v, err := e.parts(p.parts)
	return v, export(p.src, err)
}
