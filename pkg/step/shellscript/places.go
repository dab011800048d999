package shellscript

import (
	"regexp"
	"slices"
	"strings"
)

// blank stands in a script where an expression does.
const blank = '\x00'

// place is what can stand for an expression, or why nothing can. A wrong guess
// makes a script do something else than was meant, but never runs a value: what
// is put there is a variable's name in any case.
type place struct{ put, wrong string }

// The places in a Bourne shell's script.
func bareWord() place     { return place{put: `"${%s}"`} }
func withinQuotes() place { return place{put: `${%s}`} }
func no(wrong string) place {
	return place{wrong: wrong}
}

// The frames of a script that hold others.
type frame byte

const (
	command  frame = iota // the script, $(...) and (...)
	quoted                // "..."
	sums                  // $((...)) and ((...))
	braces                // ${...}
	backtick              // `...`
)

// bash scans a Bourne shell's script.
type bash struct {
	text    string
	at      int
	frames  []frame
	pending []heredoc // whose texts begin with the next line
	found   []place
}

type heredoc struct {
	end            string
	quoted, indent bool
}

// bashPlaces says for each blank of a script what can stand there.
func bashPlaces(text string) []place {
	b := &bash{text: text, frames: []frame{command}}
	for b.at < len(b.text) {
		b.next()
	}
	return b.found
}

func (b *bash) top() frame { return b.frames[len(b.frames)-1] }

func (b *bash) push(f frame, length int) {
	b.frames = append(b.frames, f)
	b.at += length
}

func (b *bash) pop() {
	if len(b.frames) > 1 {
		b.frames = b.frames[:len(b.frames)-1]
	}
	b.at++
}

func (b *bash) rest(prefix string) bool { return strings.HasPrefix(b.text[b.at:], prefix) }

// next scans what stands at the place.
func (b *bash) next() {
	c := b.text[b.at]
	switch {
	case c == blank:
		b.found = append(b.found, b.here())
		b.at++
	case c == '\\':
		b.escaped()
	case c == '$' && b.dollar():
	case c == '`':
		if b.top() == backtick {
			b.pop()
			return
		}
		b.push(backtick, 1)
	case c == '"':
		if b.top() == quoted {
			b.pop()
			return
		}
		b.push(quoted, 1)
	default:
		b.inFrame(c)
	}
}

// escaped passes a backslash and what it takes its meaning from.
func (b *bash) escaped() {
	if b.at++; b.at < len(b.text) {
		if b.text[b.at] == blank {
			b.found = append(b.found, no("stands behind a backslash"))
		}
		b.at++
	}
}

// dollar begins what a dollar sign begins; false if it is only that.
func (b *bash) dollar() bool {
	switch {
	case b.rest("$(("):
		b.push(sums, 3)
	case b.rest("$("):
		b.push(command, 2)
	case b.rest("${"):
		b.push(braces, 2)
	case b.rest("$'") && b.top() == command:
		b.at++
		b.single(true)
	default:
		return false
	}
	return true
}

// inFrame scans what means something in some frames alone.
func (b *bash) inFrame(c byte) {
	switch f := b.top(); {
	case f == braces && c == '}', f == sums && b.rest("))"), f == command && c == ')':
		if f == sums {
			b.at++
		}
		b.pop()
	case c == '\'' && (f == command || f == braces && !b.within(quoted)):
		b.single(false)
	case f != command:
		b.at++
	case c == '#' && b.wordBegins():
		b.comment()
	case b.rest("((") && b.wordBegins():
		b.push(sums, 2)
	case c == '(':
		b.push(command, 1)
	case b.rest("<<<"):
		b.at += 3
	case b.rest("<<"):
		b.heredoc()
	case c == '\n':
		b.at++
		b.heredocs()
	default:
		b.at++
	}
}

func (b *bash) within(f frame) bool { return slices.Contains(b.frames, f) }

func (b *bash) wordBegins() bool {
	return b.at == 0 || strings.ContainsRune(" \t\n;|&()", rune(b.text[b.at-1]))
}

// single passes what stands in single quotes, the first of which is here.
func (b *bash) single(escapes bool) {
	for b.at++; b.at < len(b.text) && b.text[b.at] != '\''; b.at++ {
		switch {
		case b.text[b.at] == blank:
			b.found = append(b.found, no("stands in single quotes"))
		case escapes && b.text[b.at] == '\\':
			b.at++
		}
	}
	b.at++
}

func (b *bash) comment() {
	for ; b.at < len(b.text) && b.text[b.at] != '\n'; b.at++ {
		if b.text[b.at] == blank {
			b.found = append(b.found, withinQuotes())
		}
	}
}

var (
	reads  = regexp.MustCompile(`(^|[\s;&|(])(eval|let|trap|source|(ba|da|a|k|mk|z)?sh\s.*-\w*c)\s`)
	counts = regexp.MustCompile(`\[\[.*\s-(eq|ne|lt|le|gt|ge)\s|(declare|typeset|local)\s+-\w*i`)
)

// here is the place of the blank that is next.
func (b *bash) here() place {
	line := b.line()
	switch {
	case b.within(sums) || counts.MatchString(line):
		return no("stands in arithmetic, where a value is read as code")
	case b.top() == braces:
		return no("stands in ${...}; set a variable to it first")
	case b.within(backtick):
		return no("stands in backticks; write $(...)")
	case reads.MatchString(line):
		return no("is given to what reads it as code")
	case b.top() == quoted:
		return withinQuotes()
	}
	return bareWord()
}

// line is the one that the scanner is in.
func (b *bash) line() string {
	begin := strings.LastIndexByte(b.text[:b.at], '\n') + 1
	end := strings.IndexByte(b.text[b.at:], '\n')
	if end < 0 {
		return b.text[begin:]
	}
	return b.text[begin : b.at+end]
}

// heredoc reads the operator and the word that ends the text.
func (b *bash) heredoc() {
	var h heredoc
	b.at += 2
	if b.rest("-") {
		h.indent = true
		b.at++
	}
	b.at += len(b.text[b.at:]) - len(strings.TrimLeft(b.text[b.at:], " \t"))
	var word strings.Builder
	for ; b.at < len(b.text) && !strings.ContainsRune(" \t\n;|&<>()", rune(b.text[b.at])); b.at++ {
		switch c := b.text[b.at]; c {
		case '\'', '"', '\\':
			h.quoted = true
		case blank:
			b.found = append(b.found, no("names the end of a heredoc"))
		default:
			word.WriteByte(c)
		}
	}
	if h.end = word.String(); h.end != "" || h.quoted {
		b.pending = append(b.pending, h)
	}
}

// heredocs passes the texts that begin at this line.
func (b *bash) heredocs() {
	for _, h := range b.pending {
		for b.at < len(b.text) {
			line, _, more := strings.Cut(b.text[b.at:], "\n")
			b.at += len(line)
			if more {
				b.at++
			}
			if h.indent {
				line = strings.TrimLeft(line, "\t")
			}
			if line == h.end {
				break
			}
			b.heredocLine(h, line)
		}
	}
	b.pending = nil
}

func (b *bash) heredocLine(h heredoc, line string) {
	for i := range len(line) {
		before := line[:i]
		switch {
		case line[i] != blank:
		case h.quoted:
			b.found = append(b.found, no("stands in a heredoc whose end is quoted, where no variable is replaced"))
		case strings.Count(before, "`")%2 == 1 || strings.Contains(before, "$(") || strings.HasSuffix(before, `\`):
			b.found = append(b.found, no("stands in a command, or behind a backslash, in a heredoc"))
		default:
			b.found = append(b.found, withinQuotes())
		}
	}
}
