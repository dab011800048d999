package yamldoc

import "bytes"

// Part is one document of a file with its own bytes: what a file holds between
// two marks.
type Part struct {
	Before int // lines of the file above it
	Text   []byte
}

// Cut cuts a file into its documents, where the parser begins and ends them,
// without parsing: a file's other documents are found even if one is broken. A
// line that begins with --- or ... and a blank is a mark wherever it stands,
// even within a text. A mark that says nothing else is no part's; one that a
// comment or a value follows is its document's first line.
//
// A part may hold no document, only comments. One of a file in UTF-16, which
// isn't cut, may hold several.
func Cut(data []byte) []Part {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return []Part{{Text: data}}
	}
	var parts []Part
	var now Part
	line := 0
	for len(data) > 0 {
		n := lineLength(data)
		text := data[:n]
		data = data[n:]
		line++
		mark, rest := markOf(text)
		switch {
		case mark == "---" && !directives(now.Text):
			parts = append(parts, now)
			now = Part{Before: line}
			if len(rest) > 0 {
				now = Part{Before: line - 1, Text: text}
			}
		case mark == "..." && (len(rest) == 0 || rest[0] == '#'):
			parts = append(parts, now)
			now = Part{Before: line}
		default:
			now.Text = append(now.Text, text...)
		}
	}
	return append(parts, now)
}

// byteOrderMark may begin a document, e.g. where files were joined.
const byteOrderMark = "\ufeff"

// markOf is the mark that a line begins with, and what follows it there.
func markOf(line []byte) (mark string, rest []byte) {
	line = bytes.TrimPrefix(line, []byte(byteOrderMark))
	if !bytes.HasPrefix(line, []byte("---")) && !bytes.HasPrefix(line, []byte("...")) {
		return "", nil
	}
	rest = bytes.Trim(line[3:], " \t\r\n\u0085\u2028\u2029")
	if len(line) > 3 && line[3] != ' ' && line[3] != '\t' && breakLength(line[3:]) == 0 {
		return "", nil
	}
	return string(line[:3]), rest
}

// lineLength is how long the first line is, with its end.
func lineLength(data []byte) int {
	for i := range data {
		if n := breakLength(data[i:]); n > 0 {
			return i + n
		}
	}
	return len(data)
}

// breakLength is how long the line break is that data begins with; 0: there is
// none. The parser counts as YAML 1.1 does.
func breakLength(data []byte) int {
	switch {
	case bytes.HasPrefix(data, []byte("\r\n")):
		return 2
	case data[0] == '\r', data[0] == '\n':
		return 1
	}
	for _, b := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.HasPrefix(data, []byte(b)) {
			return len(b)
		}
	}
	return 0
}

// directives says whether a part has directives such as %YAML 1.2 and nothing
// else, so that the mark that follows belongs to it.
func directives(text []byte) bool {
	found := false
	for _, line := range bytes.FieldsFunc(bytes.TrimPrefix(text, []byte(byteOrderMark)), func(r rune) bool { return r == '\r' || r == '\n' }) {
		switch trimmed := bytes.TrimLeft(line, " \t"); {
		case line[0] == '%':
			found = true
		case len(trimmed) > 0 && trimmed[0] != '#':
			return false
		}
	}
	return found
}
