package expr

import (
	"strconv"
	"strings"
)

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
				b.WriteRune(rune(r))
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
