package shellscript

import (
	"regexp"
	"strings"
)

// powerShell scans a script of PowerShell.
type powerShell struct {
	text  string
	at    int
	found []place
}

var invokes = regexp.MustCompile(`(?i)(^|[\s;&|({])(iex|Invoke-Expression|Invoke-Command|pwsh|powershell)(\.exe)?\s|::Create\(`)

// powerShellPlaces says for each blank of a script what can stand there. A
// variable of the environment is one text in and out of double quotes alike, so
// only single ones have to be found, and what isn't one.
func powerShellPlaces(text string) []place {
	p := &powerShell{text: text}
	p.code(false)
	return p.found
}

func (p *powerShell) rest(prefix string) bool { return strings.HasPrefix(p.text[p.at:], prefix) }

// code scans commands, up to the parenthesis that closes them if they are nested.
func (p *powerShell) code(nested bool) {
	for depth := 0; p.at < len(p.text); {
		c := p.text[p.at]
		switch {
		case c == blank:
			p.blank("")
		case c == '`':
			p.escaped()
		case p.rest("<#"):
			p.until("#>", "")
		case c == '#' && (p.at == 0 || strings.ContainsRune(" \t\r\n;(){}", rune(p.text[p.at-1]))):
			p.until("\n", "")
		case p.rest("@'"):
			p.until("\n'@", "stands in single quotes")
		case p.rest("@\""):
			p.at++
			p.text2("\n\"@")
		case c == '\'':
			p.at++
			p.until("'", "stands in single quotes") // two of them are two texts side by side
		case c == '"':
			p.text2("\"")
		case c == ')' && nested && depth == 0:
			p.at++
			return
		default:
			depth += strings.Count(string(c), "(") - strings.Count(string(c), ")")
			p.at++
		}
	}
}

// text2 scans a text in double quotes, the first of which is here.
func (p *powerShell) text2(end string) {
	for p.at++; p.at < len(p.text); {
		switch {
		case p.rest(end):
			p.at += len(end)
			return
		case p.rest("$("):
			p.at += 2
			p.code(true)
		case p.text[p.at] == '`':
			p.escaped()
		case p.text[p.at] == blank:
			p.blank("")
		default:
			p.at++
		}
	}
}

func (p *powerShell) escaped() {
	if p.at++; p.at < len(p.text) && p.text[p.at] == blank {
		p.blank("stands behind a backtick")
		return
	}
	p.at++
}

// until passes everything up to an end, and that.
func (p *powerShell) until(end, wrong string) {
	for p.at < len(p.text) {
		switch {
		case p.rest(end):
			p.at += len(end)
			return
		case p.text[p.at] == blank:
			p.blank(wrong)
		default:
			p.at++
		}
	}
}

// blank notes the place of the blank that is here.
func (p *powerShell) blank(wrong string) {
	begin := strings.LastIndexByte(p.text[:p.at], '\n') + 1
	line, _, _ := strings.Cut(p.text[begin:], "\n")
	if wrong == "" && invokes.MatchString(line) {
		wrong = "is given to what reads it as code"
	}
	p.found = append(p.found, place{put: "${env:%s}", wrong: wrong})
	p.at++
}
