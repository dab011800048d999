package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// shortest is how many characters a value has at least to be hidden.
const shortest = 3

func worthHiding(v string) bool { return utf8.RuneCountInString(strings.TrimSpace(v)) >= shortest }

// forms lists how a value may show in a text: as it is and without white
// space around it; each of its lines; escaped as JSON, as a Go or C string
// (%q), within the single quotes of YAML and of shells, in XML and in URLs; as bash
// quotes a word; in hexadecimal digits; as base64, by itself and within the
// base64 of more.
func forms(value string) []string {
	var out []string
	add := func(texts ...string) {
		for _, t := range texts {
			if worthHiding(t) {
				out = append(out, t)
			}
		}
	}
	trimmed := strings.TrimSpace(value)
	for _, v := range []string{value, trimmed} {
		add(v)
		add(escaped(v)...)
		add(encoded(v)...)
		if len(v) >= minHex {
			add(hex.EncodeToString([]byte(v)), fmt.Sprintf("%X", v))
		}
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		if worthHiding(line) {
			add(line)
			add(escaped(line)...)
			add(encoded(line)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// named are the quotes that html.EscapeString writes by their numbers and
// others by their names; bare are those that need neither outside of tags.
var (
	named = strings.NewReplacer("&#34;", "&quot;", "&#39;", "&apos;")
	bare  = strings.NewReplacer("&#34;", `"`, "&#39;", "'")
)

// escaped lists a value as it stands within quotes, XML and URLs.
func escaped(v string) []string {
	out := []string{
		inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)), url.PathEscape(v),
		strings.ReplaceAll(v, "'", "''"), strings.ReplaceAll(v, "'", `'\''`), html.EscapeString(v),
		named.Replace(html.EscapeString(v)), bare.Replace(html.EscapeString(v)),
	}
	out = append(out, percent(v)...)
	out = append(out, word(v)...)
	for _, safe := range []bool{true, false} {
		var doc bytes.Buffer
		enc := json.NewEncoder(&doc)
		enc.SetEscapeHTML(safe)
		if enc.Encode(v) == nil {
			out = append(out, inner(strings.TrimSpace(doc.String())))
		}
	}
	return out
}

// percent lists a value as it stands in URLs: as Go's url.QueryEscape writes
// it, as JavaScript's encodeURIComponent and encodeURI do, as RFC 3986 has it,
// and as Python's quote, which leaves the slash; with the digits of either case.
func percent(v string) []string {
	var out []string
	for _, safe := range []string{"-_.~", "-_.!~*'()", "-_.!~*'();/?:@&=+$,#", "-_.~/"} {
		for _, format := range []string{"%%%02X", "%%%02x"} {
			var b strings.Builder
			for _, c := range []byte(v) {
				if letter(c) || strings.IndexByte(safe, c) >= 0 {
					b.WriteByte(c)
				} else {
					fmt.Fprintf(&b, format, c)
				}
			}
			out = append(out, b.String(), strings.ReplaceAll(b.String(), "%20", "+"))
		}
	}
	return out
}

func letter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// word lists a value as bash's printf %q writes it: with backslashes, or in
// $'...' where there are control characters; there other characters than those of
// ASCII stand as they are, or as octal digits where the locale has none.
func word(v string) []string {
	var bare, ansi, octal strings.Builder
	for i := range len(v) {
		c := v[i]
		if !letter(c) && c < utf8.RuneSelf && strings.IndexByte("-_./:=@%+", c) < 0 {
			bare.WriteByte('\\')
		}
		bare.WriteByte(c)
		text, found := map[byte]string{'\a': `\a`, '\b': `\b`, '\t': `\t`, '\n': `\n`, '\v': `\v`, '\f': `\f`, '\r': `\r`, 0x1b: `\E`, '\\': `\\`, '\'': `\'`}[c]
		switch {
		case !found && (c < ' ' || c == 0x7f):
			text = fmt.Sprintf(`\%03o`, c)
		case !found:
			text = string([]byte{c})
		}
		ansi.WriteString(text)
		if c >= utf8.RuneSelf {
			text = fmt.Sprintf(`\%03o`, c)
		}
		octal.WriteString(text)
	}
	return []string{bare.String(), ansi.String(), octal.String()}
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// encoded lists a value as base64, in both alphabets: whole with and without
// padding, and cut into the lines that base64(1) and MIME make.
//
// Within the base64 of a longer text, such as "user:password", a value shows
// in one of three ways, by its place. Only the characters that hold nothing
// but the value are the same in every such text: they are hidden, and up to
// one character on each side of them, with some bits of the value, is not.
// Fewer than minEmbedded of them would be found by chance and are let through.
func encoded(v string) []string {
	var out []string
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		whole := e.EncodeToString([]byte(v))
		out = append(out, whole, strings.TrimRight(whole, "="))
		if len(whole) > mimeLine {
			for part := range slices.Chunk([]byte(whole), mimeLine) {
				if len(part) >= minEmbedded {
					out = append(out, string(part))
				}
			}
		}
		for before := range 3 {
			shifted := e.EncodeToString(append(make([]byte, before), v...))
			from, to := (8*before+5)/6, 8*(before+len(v))/6
			if to-from >= minEmbedded {
				out = append(out, shifted[from:to])
			}
		}
	}
	return out
}

const (
	// minHex is how many bytes a value has at least whose hexadecimal digits
	// are hidden: those of fewer are found by chance in hashes and ids.
	minHex      = 4
	mimeLine    = 76
	minEmbedded = 8 // by chance once in 64^8 places
)
