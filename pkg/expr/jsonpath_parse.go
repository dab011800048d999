package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// jsonStep is one step of a JsonPath.
type jsonStep struct {
	deep    bool // ..: from every value below
	all     bool // *
	names   []string
	indexes []int // negative ones count from the end
	slice   *jsonSlice
	filter  *jsonFilter
}

// definite says whether a path can find one value at most.
func definite(steps []jsonStep) bool {
	for _, s := range steps {
		if s.deep || s.all || s.slice != nil || s.filter != nil || len(s.names)+len(s.indexes) > 1 {
			return false
		}
	}
	return true
}

// jsonSlice is [from:to]; without an end it goes to the list's.
type jsonSlice struct {
	from, to int
	open     bool
}

func (s jsonSlice) bounds(n int) (int, int) {
	clamp := func(i int) int {
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from, to := clamp(s.from), n
	if !s.open {
		to = clamp(s.to)
	}
	return from, max(from, to)
}

// jsonFilter is a condition: x && y, x || y, !x, a comparison, or, without an
// operator, whether left exists.
type jsonFilter struct {
	op          string
	x, y        *jsonFilter
	left, right jsonOperand
}

// jsonOperand is a value, or a path from the element (@) or the root ($).
type jsonOperand struct {
	value    Value
	path     []jsonStep
	absolute bool
}

// jsonPathParser reads a path that begins with $ or @.
type jsonPathParser struct {
	lexer
	depth int
}

func parseJSONPath(text string) ([]jsonStep, error) {
	if len(text) > maxPattern {
		return nil, tooLarge("a JsonPath may have %d bytes; this one has %d", maxPattern, len(text))
	}
	p := jsonPathParser{lexer: lexer{src: text, pos: len("$")}}
	steps, err := p.steps()
	if err == nil && p.pos < len(text) {
		err = p.wrong("the end")
	}
	if err != nil {
		return nil, fmt.Errorf("JsonPath %q: %w", text, err)
	}
	return steps, nil
}

func (p *jsonPathParser) wrong(wanted string) error {
	return fmt.Errorf("%s is expected at offset %d", wanted, p.pos)
}

func (p *jsonPathParser) take(s string) bool {
	if !strings.HasPrefix(p.src[p.pos:], s) {
		return false
	}
	p.pos += len(s)
	return true
}

func (p *jsonPathParser) steps() ([]jsonStep, error) {
	steps := []jsonStep{}
	for {
		var step jsonStep
		switch {
		case p.take(".."):
			step.deep = true
		case p.at(0) == '[':
		case p.take("."):
		default:
			return steps, nil
		}
		if err := p.step(&step); err != nil {
			return nil, err
		}
		steps = append(steps, step)
	}
}

func (p *jsonPathParser) step(step *jsonStep) error {
	switch {
	case p.take("["):
		return p.selector(step)
	case p.take("*"):
		step.all = true
		return nil
	}
	start := p.pos
	for p.pos < len(p.src) && strings.IndexByte(".[]()=!<>&|, \t\n'\"", p.src[p.pos]) < 0 {
		p.pos++
	}
	if p.pos == start {
		return p.wrong("a name")
	}
	step.names = []string{p.src[start:p.pos]}
	return nil
}

// selector reads what stands between [ and ].
func (p *jsonPathParser) selector(step *jsonStep) error {
	p.skipSpace()
	switch {
	case p.take("*"):
		step.all = true
	case p.take("?"):
		f, err := p.or()
		if err != nil {
			return err
		}
		step.filter = f
	default:
		if err := p.union(step); err != nil {
			return err
		}
	}
	p.skipSpace()
	if !p.take("]") {
		return p.wrong(`"]"`)
	}
	return nil
}

// union reads names, numbers, or one slice.
func (p *jsonPathParser) union(step *jsonStep) error {
	for {
		p.skipSpace()
		if c := p.at(0); c == '\'' || c == '"' {
			name, err := p.quoted()
			if err != nil {
				return err
			}
			step.names = append(step.names, name)
		} else {
			i, ok := p.integer()
			if p.skipSpace(); p.take(":") {
				p.skipSpace()
				to, closed := p.integer()
				step.slice = &jsonSlice{from: i, to: to, open: !closed}
				return nil
			}
			if !ok {
				return p.wrong("a name in quotes, a number, * or ?")
			}
			step.indexes = append(step.indexes, i)
		}
		if p.skipSpace(); !p.take(",") {
			return nil
		}
	}
}

func (p *jsonPathParser) integer() (int, bool) {
	start := p.pos
	if p.at(0) == '-' {
		p.pos++
	}
	p.digits()
	i, err := strconv.Atoi(p.src[start:p.pos])
	if err != nil {
		p.pos = start
	}
	return i, err == nil
}

func (p *jsonPathParser) quoted() (string, error) {
	quote := p.at(0)
	var b strings.Builder
	for p.pos++; p.pos < len(p.src); p.pos++ {
		switch c := p.src[p.pos]; {
		case c == quote:
			p.pos++
			return b.String(), nil
		case c == '\\' && p.pos+1 < len(p.src):
			p.pos++
			b.WriteByte(p.src[p.pos])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.wrong("the closing quote")
}
