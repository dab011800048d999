// Package printable makes texts of others safe to show on a terminal: what
// moves the cursor, changes the terminal or turns the order of letters around
// is shown as what it is, e.g. \x1b.
//
// It changes what is shown only. What is stored, and what other programs read,
// stays as it is.
package printable

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// reset ends every colour.
const reset = "\x1b[0m"

// Line is a text that stays within its line and its column: nothing but
// characters that can be seen, and blanks.
func Line(s string) string { return quote(s, func(string) int { return 0 }) }

// Text is a text of several lines, with its tabs.
func Text(s string) string { return quote(s, blank) }

// Log is a line of a log: its colours stay, and end with it.
func Log(s string) string {
	colours := false
	s = quote(strings.TrimSuffix(s, "\r"), func(rest string) int {
		if n := colour(rest); n > 0 {
			colours = true
			return n
		}
		if rest[0] == '\t' {
			return 1
		}
		return 0
	})
	if colours {
		s += reset
	}
	return s
}

// Clean says whether a text can be shown in a line as it is.
func Clean(s string) bool { return Line(s) == s }

// Writer shows texts of several lines and colours. It is for what comes in
// whole, as by fmt.Fprint.
func Writer(w io.Writer) io.Writer { return writer{w} }

type writer struct{ to io.Writer }

// Write shows a text (io.Writer).
func (w writer) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.to, quote(string(p), func(rest string) int { return max(blank(rest), colour(rest)) }))
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func blank(rest string) int {
	if rest[0] == '\n' || rest[0] == '\t' {
		return 1
	}
	return 0
}

// colour is the length of the colour or style (SGR) that a text begins with, 0
// for none.
func colour(rest string) int {
	if !strings.HasPrefix(rest, "\x1b[") {
		return 0
	}
	n := 2 + len(rest[2:]) - len(strings.TrimLeft(rest[2:], "0123456789;:"))
	if n < len(rest) && n < 32 && rest[n] == 'm' {
		return n + 1
	}
	return 0
}

// quote shows what can't be seen, but for what keep gives the length of.
func quote(s string, keep func(rest string) int) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		if n := keep(s); n > 0 {
			b.WriteString(s[:n])
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case !hidden(r):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		s = s[n:]
	}
	return b.String()
}

// hidden says whether a character does something else than to show itself. A
// zero-width joiner is part of many signs, and harmless.
func hidden(r rune) bool {
	return !unicode.IsGraphic(r) && r != '\u200d' || r == '\u2028' || r == '\u2029'
}
