package expr

import "unicode/utf8"

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
// path, which takes the place of the shorter one: how much of it names
// something is for the Scope to say.
func extend(on node, seg segment, end int) node {
	base, ok := on.(*path)
	if !ok {
		return &field{place(on.pos()), on, seg}
	}
	base.end = end
	name, static := seg.static()
	if static && base.segments == nil {
		base.static = append(base.static, name)
		return base
	}
	if base.segments == nil {
		for _, s := range base.static {
			base.segments = append(base.segments, segment{pieces: []piece{{text: s}}, quoted: true})
		}
		base.static = nil
	}
	base.segments = append(base.segments, seg)
	return base
}
