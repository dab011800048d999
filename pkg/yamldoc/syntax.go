package yamldoc

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// lineReader gives the parser one line at a time, so that it is known where
// the parser stood when it failed.
type lineReader struct {
	rest []byte
	read int // lines, with the end of the file as one
	end  bool
}

func (l *lineReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if !l.end {
			l.end = true
			l.read++
		}
		return 0, io.EOF
	}
	length := bytes.IndexByte(l.rest, '\n') + 1
	if length == 0 {
		length = len(l.rest)
	}
	n := copy(p, l.rest[:length])
	l.rest = l.rest[n:]
	if n == length {
		l.read++
	}
	return n, nil
}

var errorLine = regexp.MustCompile(`line (\d+): `)

// line is where an error of the parser is. The parser names the line where a
// scalar is wrong, but for what should follow something it names where that
// began, or nothing; then it is the line before the last one that it read.
func (l *lineReader) line(err error) int {
	if m := errorLine.FindStringSubmatch(err.Error()); m != nil && !strings.Contains(err.Error(), "did not find expected") {
		n, _ := strconv.Atoi(m[1]) // the pattern has digits only
		return n
	}
	return max(l.read-1, 1)
}

// syntax reports an error of the parser, which names no column: the finding
// points at the line's first character.
func (r *Report) syntax(err error, line int, data []byte) {
	text := errorLine.ReplaceAllString(strings.TrimPrefix(err.Error(), "yaml: "), "")
	column := 1
	if lines := bytes.SplitN(data, []byte("\n"), line+1); line <= len(lines) {
		this := lines[line-1]
		column += len(this) - len(bytes.TrimLeft(this, " \t"))
	}
	r.add(Error, Pos{File: r.file, Line: line, Column: column}, "SYNTAX", "not YAML: %s", text)
}
