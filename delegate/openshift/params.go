package openshift

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/delegate/manifest"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// Params reads files of parameters, low to high: of two values of one
// parameter the last counts. A line is NAME=value (or "NAME: value"); lines
// that begin with # are comments. Values may be in quotes, and then go over
// several lines.
func Params(files []manifest.File) (map[string]string, error) {
	out := map[string]string{}
	for _, f := range files {
		s := scanner{rest: f.Text}
		for s.next() {
			name, value, err := s.param()
			if err != nil {
				return nil, fault.New(fault.Invalid, "parameters %s, line %d: %w", f.Name, s.line, err)
			}
			if name != "" {
				out[name] = value
			}
		}
	}
	return out, nil
}

var parameterName = regexp.MustCompile(`^[a-zA-Z0-9_]+$`)

// scanner goes through the lines of a file of parameters.
type scanner struct {
	text string // the line
	line int    // its number
	rest string // what comes after it
}

func (s *scanner) next() bool {
	if s.rest == "" {
		return false
	}
	s.text, s.rest, _ = strings.Cut(s.rest, "\n")
	s.line++
	return true
}

// param reads a line, and those after it on which its value goes on; name is
// empty for a line without a parameter.
func (s *scanner) param() (name, value string, err error) {
	text := strings.TrimSpace(s.text)
	if text == "" || text[0] == '#' {
		return "", "", nil
	}
	at := strings.IndexAny(text, "=:")
	if at < 0 {
		return "", "", fault.New(fault.Invalid, "found no value; want NAME=value")
	}
	name = strings.TrimSpace(strings.TrimPrefix(text[:at], "export "))
	if !parameterName.MatchString(name) {
		return "", "", fault.New(fault.Invalid, "found the name %q; want letters, digits and _", name)
	}
	value = strings.TrimSpace(text[at+1:])
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		value, err = s.quoted(value)
		return name, value, err
	}
	value, _, _ = strings.Cut(value, " #")
	return name, strings.TrimSpace(value), nil
}

// quoted reads a value up to the quote that ends it. In double quotes \n, \r,
// \" and \\ mean what they mean in most languages.
func (s *scanner) quoted(text string) (string, error) {
	quote, first := text[0], s.line
	text = text[1:]
	var b strings.Builder
	for {
		for i := 0; i < len(text); i++ {
			switch {
			case text[i] == quote:
				return b.String(), nil
			case text[i] == '\\' && quote == '"' && i+1 < len(text):
				i++
				b.WriteString(unescaped(text[i]))
			default:
				b.WriteByte(text[i])
			}
		}
		if !s.next() {
			s.line = first
			return "", fault.New(fault.Invalid, "a value begins with %c, but no %c ends it", quote, quote)
		}
		b.WriteByte('\n')
		text = strings.TrimSuffix(s.text, "\r")
	}
}

func unescaped(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case '"', '\\', '$':
		return string(c)
	}
	return `\` + string(c)
}
