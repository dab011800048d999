package expr

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

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
		v, _ := parseNumber(t.text)
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
// brackets are the beginning of that name (pipeline spec §3.2 rule 4).
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
	seg, err := p.splice(segment{pieces: []piece{{text: name}}})
	if err != nil {
		return nil, err
	}
	end := p.pos
	p.advance()
	if _, static := seg.static(); !static {
		return &path{place: place(start), end: end, segments: []segment{seg}}, nil
	}
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
	return &path{place: place(start), end: end, static: []string{name}}, nil
}

// member parses .name, ."a name" and .name(..) after a value.
func (p *parser) member(on node) (node, error) {
	safe := p.tok.text == "?."
	p.skipSpace()
	start := p.pos
	if err := p.count(start); err != nil {
		return nil, err
	}
	seg, err := p.memberName()
	if err != nil {
		return nil, err
	}
	end := p.pos
	p.advance()
	name, static := seg.static()
	if !p.is("(") || !static || seg.quoted {
		return extend(on, seg, end), nil
	}
	p.advance()
	args, err := p.arguments(")")
	if err != nil {
		return nil, err
	}
	root, ok := on.(*path)
	if key, constant := constantKey(name, args); constant && ok {
		return extend(on, key, p.tok.pos), nil
	}
	if ok && len(root.static) == 1 && !safe {
		return &call{place(root.pos()), root.static[0], name, args}, nil
	}
	return &method{place(start), on, name, safe, args}, nil
}

func (p *parser) memberName() (segment, error) {
	if c := p.at(0); c == '"' || c == '\'' || c == '\\' || c >= utf8.RuneSelf && !isNameStart(p.rune()) {
		if closing := p.quote(); closing != "" {
			return p.text(closing)
		}
	}
	start := p.pos
	seg, err := p.splice(segment{})
	if err == nil && len(seg.pieces) == 0 {
		return seg, failAt(start, "a name is expected after the dot")
	}
	return seg, err
}

// constantKey recognises get("key"), which is another way to write a name.
func constantKey(method string, args []node) (segment, bool) {
	if method != "get" || len(args) != 1 {
		return segment{}, false
	}
	return keyOf(args[0])
}

// keyOf turns a string in the place of an index into a name.
func keyOf(n node) (segment, bool) {
	switch n := n.(type) {
	case *literal:
		if n.value.kind == KindString {
			return segment{pieces: []piece{{text: n.value.text}}, quoted: true}, true
		}
	case *template:
		return segment{pieces: n.pieces, quoted: true}, true
	}
	return segment{}, false
}

// index parses [x] after a value.
func (p *parser) index(on node) (node, error) {
	start := p.tok.pos
	if err := p.count(start); err != nil {
		return nil, err
	}
	p.advance()
	i, err := p.ternary()
	if err != nil {
		return nil, err
	}
	end := p.pos
	if err := p.expect("]"); err != nil {
		return nil, err
	}
	if key, ok := keyOf(i); ok {
		return extend(on, key, end), nil
	}
	return &element{place(start), on, i}, nil
}

// extend puts one more name behind a value. Behind a path it makes a longer
// path: how much of it names something is for the Scope to say.
func extend(on node, seg segment, end int) node {
	base, ok := on.(*path)
	if !ok {
		return &field{place(on.pos()), on, seg}
	}
	out := *base
	out.end = end
	name, static := seg.static()
	if static && base.segments == nil {
		out.static = append(base.static, name) //nolint:gocritic // the shorter path is given up
		return &out
	}
	if base.segments == nil {
		for _, s := range base.static {
			out.segments = append(out.segments, segment{pieces: []piece{{text: s}}, quoted: true})
		}
		out.static = nil
	}
	out.segments = append(out.segments, seg)
	return &out
}

// text reads a string up to what closes it, with the expressions in it.
// Escapes are JEXL's: an unknown one stays as written, so that '\d' is \d.
func (p *parser) text(closing string) (segment, error) {
	start := p.pos
	seg := segment{quoted: true}
	var b strings.Builder
	for p.pos < len(p.src) {
		rest := p.src[p.pos:]
		switch {
		case p.closes(rest, closing):
			if b.Len() > 0 || len(seg.pieces) == 0 {
				seg.pieces = append(seg.pieces, piece{text: b.String()})
			}
			return seg, nil
		case strings.HasPrefix(rest, "<+"):
			n, err := p.inText()
			if err != nil {
				return seg, err
			}
			if b.Len() > 0 {
				seg.pieces = append(seg.pieces, piece{text: b.String()})
				b.Reset()
			}
			seg.pieces = append(seg.pieces, piece{expr: n})
		case rest[0] == '\\' && len(rest) > 1:
			p.escape(&b)
		default:
			b.WriteByte(rest[0])
			p.pos++
		}
	}
	return seg, failAt(start-len(closing), "the string is never closed; %s is expected", closing)
}

// inText parses a <+...> in a string. Its > are counted apart: a quote stands
// between them and those of the brackets around the string.
func (p *parser) inText() (node, error) {
	start, open := p.pos, p.open
	p.pos += len("<+")
	p.open = 0
	n, err := p.bracket(start)
	p.open = open
	return n, err
}

// closes consumes the end of a string. One that a typographic quote opened
// may be closed by any quote of its kind.
func (p *parser) closes(rest, closing string) bool {
	either := []string{closing}
	switch closing {
	case "“", "”":
		either = []string{"”", "“", `"`}
	case "‘", "’":
		either = []string{"’", "‘", "'"}
	}
	for _, c := range either {
		if strings.HasPrefix(rest, c) {
			p.pos += len(c)
			return true
		}
	}
	return false
}

// escape reads a backslash and what it escapes.
func (p *parser) escape(b *strings.Builder) {
	const width = len(`\u0041`)
	c := p.at(1)
	p.pos += 2
	switch c {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case '"', '\'', '\\':
		b.WriteByte(c)
	case 'u':
		if hex := p.src[p.pos:min(len(p.src), p.pos+width-2)]; len(hex) == width-2 {
			if r, err := strconv.ParseUint(hex, 16, 16); err == nil {
				b.WriteRune(rune(r)) //nolint:gosec // 16 bits
				p.pos += len(hex)
				return
			}
		}
		b.WriteString(`\u`)
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
}

// node makes a string literal of a segment that was read as one.
func (s segment) node(pos int) node {
	if text, ok := s.static(); ok {
		return &literal{place(pos), String(text)}
	}
	return &template{place(pos), s.pieces}
}
