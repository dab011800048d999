package expr

import (
	"strings"
)

// Bounds of one expression. Real ones have a nesting of five and some forty
// nodes; evaluation recurses over the tree, so its size has to be bounded too.
const (
	maxNesting = 100
	maxNodes   = 10_000
)

// parser is a recursive-descent parser; binary operators by precedence.
type parser struct {
	lexer
	tok   token
	depth int
	nodes int
}

// parsed is an expression and where its text ends.
type parsed struct {
	node  node
	end   int
	smart []int // offsets of typographic quotes
}

// parseBracket parses the <+...> that begins at an offset.
func parseBracket(src string, start int) (parsed, error) {
	return attempt(src, start+len("<+"), func(p *parser) (node, error) { return p.bracket(start) })
}

// parseBody parses a whole text as an expression with <+...> operands.
func parseBody(src string) (parsed, error) { return attempt(src, 0, (*parser).body) }

// attempt parses; if that fails and some > was taken for an operator, it
// parses again with every > closing a bracket: `<+ a > && <+ b > > 1`.
func attempt(src string, from int, parse func(*parser) (node, error)) (parsed, error) {
	p := parser{lexer: lexer{src: src, pos: from}}
	n, err := parse(&p)
	if err != nil && p.guessed {
		strict := parser{lexer: lexer{src: src, pos: from, strict: true}}
		if again, second := parse(&strict); second == nil {
			return parsed{again, strict.pos, strict.smart}, nil
		}
	}
	return parsed{n, p.pos, p.smart}, err
}

func (p *parser) body() (node, error) {
	p.advance()
	n, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if p.tok.kind != tokEnd {
		return nil, p.unexpected("an operator or the end")
	}
	return n, nil
}

// bracket parses up to and including the closing >. The token after it isn't
// read: whether it is glued to the bracket matters to the caller.
func (p *parser) bracket(start int) (node, error) {
	p.open++
	if err := p.enter(start); err != nil {
		return nil, err
	}
	p.advance()
	if p.tok.kind == tokClose {
		return nil, failAt(start, "<+> is empty; a name or an expression is expected")
	}
	n, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if p.tok.kind == tokEnd {
		return nil, failAt(start, "<+ is never closed; > is expected at the end of the expression")
	}
	if p.tok.kind != tokClose {
		return nil, p.unexpected("an operator or >")
	}
	p.open--
	p.depth--
	return n, nil
}

func (p *parser) advance() { p.tok = p.next() }

// enter counts the nesting; the caller leaves by p.depth--. On an error
// nobody leaves: parsing is over.
func (p *parser) enter(pos int) error {
	p.depth++
	if p.depth > maxNesting {
		return failAt(pos, "the expression is nested deeper than %d", maxNesting)
	}
	return nil
}

func (p *parser) count(pos int) error {
	p.nodes++
	if p.nodes > maxNodes {
		return failAt(pos, "the expression has more than %d parts", maxNodes)
	}
	return nil
}

func (p *parser) unexpected(wanted string) error {
	t := p.tok
	switch {
	case t.kind == tokEnd:
		return failAt(t.pos, "the expression ends too early; %s is expected", wanted)
	case t.kind == tokClose:
		return failAt(t.pos, "found the closing >; %s is expected (greater-than is best written gt)", wanted)
	case t.kind == tokBad && t.text == "=":
		return failAt(t.pos, `found "="; assignment isn't possible, equality is ==`)
	case t.kind == tokName && t.text == "in":
		return failAt(t.pos, `found "in", which isn't an operator; membership is x =~ [a, b]`)
	}
	return failAt(t.pos, "found %q; %s is expected", t.text, wanted)
}

func (p *parser) is(op string) bool { return p.tok.kind == tokOp && p.tok.text == op }

func (p *parser) expect(op string) error {
	if !p.is(op) {
		return p.unexpected("\"" + op + "\"")
	}
	p.advance()
	return nil
}

// ternary parses c ? a : b, a ?: b and a ?? b, which bind weakest and to the
// right.
func (p *parser) ternary() (node, error) {
	if err := p.enter(p.tok.pos); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	cond, err := p.binary(1)
	if err != nil {
		return nil, err
	}
	start := p.tok.pos
	switch {
	case p.is("?:") || p.is("??"):
		op := p.tok.text
		p.advance()
		no, err := p.ternary()
		return &binary{place(start), op, cond, no}, err
	case !p.is("?"):
		return cond, nil
	}
	p.advance()
	yes, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	no, err := p.ternary()
	return &ternary{place(start), cond, yes, no}, err
}

// precedence gives the canonical name of a binary operator and how strongly
// it binds; 0 if the token isn't one.
func precedence(t token) (string, int) {
	if t.kind != tokOp && t.kind != tokName {
		return "", 0
	}
	switch t.text {
	case "||", "or":
		return "||", 1
	case "&&", "and":
		return "&&", 2
	case "==", "eq":
		return "==", 3
	case "!=", "ne":
		return "!=", 3
	case "<", "lt":
		return "<", 4
	case "<=", "le":
		return "<=", 4
	case ">", "gt":
		return ">", 4
	case ">=", "ge":
		return ">=", 4
	case "=~", "!~", "=^", "!^", "=$", "!$":
		return t.text, 4
	case "..":
		return "..", 5
	case "+", "-":
		return t.text, 6
	case "*", "/", "%":
		return t.text, 7
	case "div":
		return "/", 7
	case "mod":
		return "%", 7
	}
	return "", 0
}

// binary parses operators that bind at least as strongly as floor; all are
// left-associative.
func (p *parser) binary(floor int) (node, error) {
	left, err := p.unary()
	for err == nil {
		op, strength := precedence(p.tok)
		if strength == 0 || strength < floor {
			return left, nil
		}
		start := p.tok.pos
		if err := p.count(start); err != nil {
			return nil, err
		}
		p.advance()
		var right node
		right, err = p.binary(strength + 1)
		left = &binary{place(start), op, left, right}
	}
	return nil, err
}

func (p *parser) unary() (node, error) {
	op := ""
	switch {
	case p.is("!"), p.is("-"), p.is("+"):
		op = p.tok.text
	case p.tok.kind == tokName && p.tok.text == "not" && !p.namesValue():
		op = "!"
	default:
		return p.postfix()
	}
	start := p.tok.pos
	if err := p.enter(start); err != nil {
		return nil, err
	}
	p.advance()
	x, err := p.unary()
	p.depth--
	return &unary{place(start), op, x}, err
}

// namesValue says whether the keyword that was just read is a name after all,
// because a dot or an end follows.
func (p *parser) namesValue() bool {
	rest := strings.TrimLeft(p.src[p.pos:], " \t\r\n")
	return rest == "" || strings.IndexByte(".>=)?:,]", rest[0]) >= 0
}

// arguments parses what stands between ( and ), or between other brackets.
func (p *parser) arguments(closing string) ([]node, error) {
	var args []node
	if p.is(closing) {
		p.advance()
		return nil, nil
	}
	for {
		arg, err := p.ternary()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if p.is(closing) {
			p.advance()
			return args, nil
		}
		if !p.is(",") {
			return nil, p.unexpected("\",\" or \"" + closing + "\"")
		}
		p.advance()
	}
}
