package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
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
// (%q), within the single quotes of YAML and of shells, in XML and in URLs; as
// base64, by itself and within the base64 of more.
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
	}
	for line := range strings.Lines(trimmed) {
		line = strings.TrimSpace(line)
		if worthHiding(line) {
			add(line)
			add(escaped(line)...)
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
		inner(strconv.Quote(v)), inner(strconv.QuoteToASCII(v)), url.QueryEscape(v), url.PathEscape(v),
		strings.ReplaceAll(v, "'", "''"), strings.ReplaceAll(v, "'", `'\''`), html.EscapeString(v),
		named.Replace(html.EscapeString(v)), bare.Replace(html.EscapeString(v)),
	}
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
	mimeLine    = 76
	minEmbedded = 8 // by chance once in 64^8 places
)
