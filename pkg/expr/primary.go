package expr

import "strings"

// postfix parses an operand and what follows it: .name, ["name"], [i], .m(..).
func (p *parser) postfix() (node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.is("."), p.is("?."):
			n, err = p.member(n)
		case p.is("["):
			n, err = p.index(n)
		default:
			return n, nil
		}
	}
	return nil, err
}

func (p *parser) primary() (node, error) {
	t := p.tok
	if err := p.count(t.pos); err != nil {
		return nil, err
	}
	switch t.kind {
	case tokOpen:
		return p.nested()
	case tokName:
		return p.word()
	case tokQuote:
		s, err := p.text(t.text)
		p.advance()
		return s.node(t.pos), err
	case tokNumber:
		v, ok := parseNumber(t.text)
		if !ok {
			return nil, failAt(t.pos, "the number %s is too large", t.text)
		}
		p.advance()
		return &literal{place(t.pos), v}, nil
	case tokOp:
		return p.enclosed()
	case tokEnd, tokClose, tokBad:
	}
	return nil, p.unexpected("a value")
}

// enclosed parses (x), [x, y], {x, y} and {k: v}.
func (p *parser) enclosed() (node, error) {
	start := p.tok.pos
	switch p.tok.text {
	case "(":
		p.advance()
		n, err := p.ternary()
		if err != nil {
			return nil, err
		}
		return n, p.expect(")")
	case "[":
		p.advance()
		items, err := p.arguments("]")
		return &list{place(start), items, false}, err
	case "{":
		p.advance()
		return p.braces(start)
	}
	return nil, p.unexpected("a value")
}

// braces parses a set or a map after its {. {} and {:} are empty maps. A bare
// name before a colon is a key, not a variable.
func (p *parser) braces(start int) (node, error) {
	m := &object{place: place(start)}
	if p.is(":") {
		p.advance()
	}
	if p.is("}") {
		p.advance()
		return m, nil
	}
	set := &list{place: place(start), set: true}
	for {
		key, err := p.key()
		if err != nil {
			return nil, err
		}
		if p.is(":") && len(set.items) == 0 {
			p.advance()
			value, err := p.ternary()
			if err != nil {
				return nil, err
			}
			m.keys, m.values = append(m.keys, key), append(m.values, value)
		} else {
			set.items = append(set.items, key)
		}
		switch {
		case p.is("}") && (len(m.keys) == 0 || len(set.items) == 0):
			p.advance()
			if len(m.keys) > 0 {
				return m, nil
			}
			return set, nil
		case !p.is(","):
			return nil, p.unexpected(`"," or "}"`)
		}
		p.advance()
	}
}

func (p *parser) key() (node, error) {
	if rest := strings.TrimLeft(p.src[p.pos:], " \t"); p.tok.kind == tokName && strings.HasPrefix(rest, ":") {
		n := &literal{place(p.tok.pos), String(p.tok.text)}
		p.advance()
		return n, nil
	}
	return p.ternary()
}

// nested parses <+...> inside an expression: an operand. Names that follow a
// path in brackets make it longer, as if the brackets weren't there, so that a
// Scope needs no value for the shorter one. Glued to characters of a name the
// brackets are the beginning of that name (semantics/pipeline §3.2 rule 4).
func (p *parser) nested() (node, error) {
	start := p.tok.pos
	n, err := p.bracket(start)
	if err != nil {
		return nil, err
	}
	if !p.glued() {
		p.advance()
		return n, nil
	}
	seg, err := p.splice(segment{pieces: []piece{{expr: n}}})
	end := p.pos
	p.advance()
	return &path{place: place(start), end: end, segments: []segment{seg}}, err
}

// glued says whether a character of a name, or a bracket, comes right now.
func (p *parser) glued() bool {
	return isNamePart(p.rune()) || strings.HasPrefix(p.src[p.pos:], "<+")
}

// splice reads on a segment: characters of a name and brackets between them.
func (p *parser) splice(seg segment) (segment, error) {
	for p.glued() {
		if name := p.name(); name != "" {
			seg.pieces = append(seg.pieces, piece{text: name})
			continue
		}
		start := p.pos
		p.pos += len("<+")
		n, err := p.bracket(start)
		if err != nil {
			return seg, err
		}
		seg.pieces = append(seg.pieces, piece{expr: n})
	}
	return seg, nil
}

// usualPath is how many names most paths have at most.
const usualPath = 4

// word parses what begins with a name: a keyword, a function or a path.
func (p *parser) word() (node, error) {
	start, name := p.tok.pos, p.tok.text
	switch name {
	case "true", "false":
		p.advance()
		return &literal{place(start), Bool(name == "true")}, nil
	case "null":
		p.advance()
		return &literal{place(start), Null()}, nil
	}
	if p.glued() {
		seg, err := p.splice(segment{pieces: []piece{{text: name}}})
		end := p.pos
		p.advance()
		return &path{place: place(start), end: end, segments: []segment{seg}}, err
	}
	end := p.pos
	p.advance()
	if p.is("(") {
		p.advance()
		args, err := p.arguments(")")
		return &call{place: place(start), name: name, args: args}, err
	}
	if (name == "empty" || name == "size") && (p.tok.kind == tokOpen || p.tok.kind == tokName || p.tok.kind == tokQuote) {
		if _, strength := precedence(p.tok); strength == 0 { // empty x, without parentheses
			x, err := p.unary()
			return &call{place: place(start), name: name, args: []node{x}}, err
		}
	}
	return &path{place: place(start), end: end, static: append(make([]string, 0, usualPath), name)}, nil
}
