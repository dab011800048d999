package expr

import "strings"

func (p *jsonPathParser) or() (*jsonFilter, error) { return p.chain("||", p.and) }

func (p *jsonPathParser) and() (*jsonFilter, error) { return p.chain("&&", p.condition) }

func (p *jsonPathParser) chain(op string, operand func() (*jsonFilter, error)) (*jsonFilter, error) {
	f, err := operand()
	for err == nil {
		if p.skipSpace(); !p.take(op) {
			return f, nil
		}
		var right *jsonFilter
		right, err = operand()
		f = &jsonFilter{op: op, x: f, y: right}
	}
	return nil, err
}

func (p *jsonPathParser) condition() (*jsonFilter, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, p.wrong("a simpler filter")
	}
	defer func() { p.depth-- }()
	p.skipSpace()
	switch {
	case p.take("!"):
		f, err := p.condition()
		return &jsonFilter{op: "!", x: f}, err
	case p.take("("):
		f, err := p.or()
		if err != nil {
			return nil, err
		}
		if p.skipSpace(); !p.take(")") {
			return nil, p.wrong(`")"`)
		}
		return f, nil
	}
	return p.comparison()
}

func (p *jsonPathParser) comparison() (*jsonFilter, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.skipSpace()
	for _, op := range []string{"==", "!=", "<=", ">=", "=~", "<", ">"} {
		if !p.take(op) {
			continue
		}
		right, err := p.operand()
		return &jsonFilter{op: op, left: left, right: right}, err
	}
	return &jsonFilter{left: left}, nil
}

func (p *jsonPathParser) operand() (jsonOperand, error) {
	p.skipSpace()
	switch c := p.at(0); c {
	case '@', '$':
		p.pos++
		steps, err := p.steps()
		return jsonOperand{path: steps, absolute: c == '$'}, err
	case '\'', '"':
		s, err := p.quoted()
		return jsonOperand{value: String(s)}, err
	case '/': // a regular expression
		end := strings.IndexByte(p.src[p.pos+1:], '/')
		if end < 0 {
			return jsonOperand{}, p.wrong("a closing /")
		}
		re := p.src[p.pos+1 : p.pos+1+end]
		p.pos += end + len("//")
		return jsonOperand{value: String(re)}, nil
	}
	start := p.pos
	for p.pos < len(p.src) && (isNamePart(p.rune()) || strings.IndexByte("+-.", p.at(0)) >= 0) {
		p.pos++
	}
	switch word := p.src[start:p.pos]; word {
	case "true", "false":
		return jsonOperand{value: Bool(word == "true")}, nil
	case "null":
		return jsonOperand{}, nil
	default:
		if v, ok := parseNumber(word); ok {
			return jsonOperand{value: v}, nil
		}
	}
	p.pos = start
	return jsonOperand{}, p.wrong("@, $, a text, a number, true, false or null")
}
