package expr

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type tokenKind uint8

const (
	tokEnd    tokenKind = iota // of the text
	tokOpen                    // <+
	tokClose                   // > that ends the innermost <+
	tokName                    // identifier or keyword
	tokNumber                  //
	tokQuote                   // opens a string; the parser reads on from there
	tokOp                      // operator or punctuation
	tokBad                     // anything else
)

type token struct {
	kind tokenKind
	pos  int
	text string // of a quote: what closes it
}

// lexer makes tokens on demand: what a > means depends on how many brackets
// are open, and what a quote holds is the parser's business.
type lexer struct {
	src     string
	pos     int
	open    int   // brackets <+ that aren't closed yet
	strict  bool  // every > closes a bracket
	guessed bool  // a > that could close was taken for an operator
	smart   []int // offsets of typographic quotes
}

func (l *lexer) next() token {
	l.skipSpace()
	start := l.pos
	if start >= len(l.src) {
		return token{kind: tokEnd, pos: start}
	}
	switch c := l.src[start]; {
	case c == '<':
		return l.less()
	case c == '>':
		return l.greater()
	case c >= '0' && c <= '9':
		return token{tokNumber, start, l.number()}
	case c == '"' || c == '\'' || c == '\\':
		if closing := l.quote(); closing != "" {
			return token{tokQuote, start, closing}
		}
	case isNameStart(l.rune()):
		return token{tokName, start, l.name()}
	case c >= utf8.RuneSelf:
		if closing := l.quote(); closing != "" {
			return token{tokQuote, start, closing}
		}
	default:
		if op := l.operator(); op != "" {
			l.pos += len(op)
			return token{tokOp, start, op}
		}
	}
	_, size := utf8.DecodeRuneInString(l.src[start:])
	l.pos += size
	return token{tokBad, start, l.src[start:l.pos]}
}

func (l *lexer) skipSpace() {
	for l.pos < len(l.src) {
		switch c := l.src[l.pos]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			l.pos++
		case strings.HasPrefix(l.src[l.pos:], "\u00a0"): // pasted from a web page
			l.pos += len("\u00a0")
		default:
			return
		}
	}
}

func (l *lexer) rune() rune {
	r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	return r
}

func isNameStart(r rune) bool { return r == '_' || r == '$' || unicode.IsLetter(r) }

func isNamePart(r rune) bool { return isNameStart(r) || r >= '0' && r <= '9' }

// name reads the characters of a name from here on; there may be none.
func (l *lexer) name() string {
	start := l.pos
	for l.pos < len(l.src) {
		r, size := utf8.DecodeRuneInString(l.src[l.pos:])
		if !isNamePart(r) {
			break
		}
		l.pos += size
	}
	return l.src[start:l.pos]
}

// number reads 12, 1.5, 2e3 and 7L. It leaves the dots of 1..5 and 1.abs alone.
func (l *lexer) number() string {
	start := l.pos
	l.digits()
	if l.at(0) == '.' && isDigit(l.at(1)) {
		l.pos++
		l.digits()
	}
	if c := l.at(0); c == 'e' || c == 'E' {
		if isDigit(l.at(1)) {
			l.pos++
			l.digits()
		} else if c := l.at(1); (c == '+' || c == '-') && isDigit(l.at(2)) {
			l.pos += 2
			l.digits()
		}
	}
	text := l.src[start:l.pos]
	if c := l.at(0); c != 0 && strings.IndexByte("lLfFdD", c) >= 0 && !isNamePart(rune(l.at(1))) {
		l.pos++ // Java's suffixes say nothing here
	}
	return text
}

func (l *lexer) digits() {
	for isDigit(l.at(0)) {
		l.pos++
	}
}

// at is the byte n after the current one, or 0 after the end.
func (l *lexer) at(n int) byte {
	if l.pos+n >= len(l.src) {
		return 0
	}
	return l.src[l.pos+n]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// quote reads the opening of a string and gives what closes it. In a string
// inside a string quotes may come escaped: \"...\". Typographic quotes count
// as plain ones, with a warning (semantics/pipeline §3.2).
func (l *lexer) quote() string {
	rest := l.src[l.pos:]
	for _, q := range []string{`"`, `'`, `\"`, `\'`} {
		if strings.HasPrefix(rest, q) {
			l.pos += len(q)
			return q
		}
	}
	for _, q := range []string{"“", "”", "‘", "’"} {
		if strings.HasPrefix(rest, q) {
			l.smart = append(l.smart, l.pos)
			l.pos += len(q)
			return q
		}
	}
	return ""
}

func (l *lexer) operator() string {
	rest := l.src[l.pos:]
	if len(rest) > 1 {
		switch op := rest[:2]; op {
		case "?.":
			if !isDigit(l.at(2)) { // not x?.5:1
				return op
			}
		case "?:", "??", "==", "=~", "=^", "=$", "!=", "!~", "!^", "!$", "&&", "||", "..":
			return op
		}
	}
	if strings.IndexByte("?!.+-*/%()[]{},:", rest[0]) >= 0 {
		return rest[:1]
	}
	return ""
}

func (l *lexer) less() token {
	start := l.pos
	switch l.at(1) {
	case '+':
		l.pos += 2
		return token{tokOpen, start, "<+"}
	case '=':
		l.pos += 2
		return token{tokOp, start, "<="}
	}
	l.pos++
	return token{tokOp, start, "<"}
}

// greater decides what a > is. Outside brackets it is always the operator.
// Inside it closes the bracket, unless it is >= or has space on both sides,
// and enough > follow for the brackets that are open (semantics/pipeline §3.2).
func (l *lexer) greater() token {
	start := l.pos
	orEqual := l.at(1) == '='
	operator := l.open == 0
	switch {
	case operator || l.strict:
	case orEqual:
		// <+a>=="x" and <+a>=~"x" are common: there the > closes.
		if next := l.at(2); next == 0 || strings.IndexByte("=~^$", next) < 0 {
			operator = l.closable(start+2, true)
		}
	case start > 0 && isSpace(l.src[start-1]) && isSpace(l.at(1)):
		operator = l.closable(start+1, false)
	}
	l.guessed = l.guessed || operator && l.open > 0
	switch {
	case !operator:
		l.pos++
		return token{tokClose, start, ">"}
	case orEqual:
		l.pos += 2
		return token{tokOp, start, ">="}
	}
	l.pos++
	return token{tokOp, start, ">"}
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// closable says whether the open brackets can still be closed by the text
// from an offset on. It looks only so far, to stay linear.
func (l *lexer) closable(from int, sameLine bool) bool {
	const window = 1024
	open, quote := l.open, byte(0)
	text := l.src[from:min(len(l.src), from+window)]
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case sameLine && c == '\n':
			return false
		case quote != 0:
			switch c {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '<' && strings.HasPrefix(text[i:], "<+"):
			open++
			i++
		case c == '>':
			if open--; open == 0 {
				return true
			}
		}
	}
	return false
}
