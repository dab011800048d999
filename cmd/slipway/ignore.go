package main

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// ignores are the rules of .slipwayignore files, in the order in which they are
// met: a folder's after those of the folders around it. The last rule that fits
// decides, as Git has it.
type ignores struct{ rules []ignoreRule }

// ignoreRule is one line of a .slipwayignore.
type ignoreRule struct {
	root    string // the folder of the file
	pattern *regexp.Regexp
	folder  bool // it names folders alone
	keep    bool // it began with !
}

// match says whether a file or a folder is left out.
func (i *ignores) match(path string, folder bool) bool {
	out := false
	for _, r := range i.rules {
		below, err := filepath.Rel(r.root, path)
		if err != nil || below == ".." || strings.HasPrefix(below, ".."+string(filepath.Separator)) {
			continue
		}
		if (folder || !r.folder) && r.pattern.MatchString(filepath.ToSlash(below)) {
			out = !r.keep
		}
	}
	return out
}

// add adds the rules of a folder's file.
func (i *ignores) add(root string, text []byte) error {
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r")
		for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
			line = line[:len(line)-1]
		}
		r := ignoreRule{root: root}
		if line, r.keep = strings.CutPrefix(line, "!"); line == "" || line[0] == '#' && !r.keep {
			continue
		}
		line, r.folder = strings.CutSuffix(line, "/")
		var err error
		if r.pattern, err = regexp.Compile(ignorePattern(line)); err != nil {
			return fault.New(fault.Invalid, "%s:%d: the pattern %q can't be read", filepath.Join(root, ".slipwayignore"), n+1, line)
		}
		i.rules = append(i.rules, r)
	}
	return nil
}

// ignorePattern makes a regular expression of a pattern. One with a slash
// before its end is about a path from the folder on, any other about a name at
// any depth.
func ignorePattern(glob string) string {
	out := "^"
	if !strings.Contains(glob, "/") {
		out = "^(?:.*/)?"
	}
	glob = strings.TrimPrefix(glob, "/")
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			out += "(?:.*/)?"
			i += 2
		case rest == "**" && i > 0 && glob[i-1] == '/':
			out += ".+"
			i++
		case rest[0] == '*':
			out += "[^/]*"
		case rest[0] == '?':
			out += "[^/]"
		case rest[0] == '[' && strings.Contains(rest[1:], "]"):
			end := 2 + strings.Index(rest[2:]+"]", "]")
			class := strings.ReplaceAll(rest[1:min(end, len(rest))], `\`, `\\`)
			if strings.HasPrefix(class, "!") {
				class = "^/" + class[1:]
			}
			out += "[" + class + "]"
			i += end
		case rest[0] == '\\' && len(rest) > 1:
			out += regexp.QuoteMeta(rest[1:2])
			i++
		default:
			out += regexp.QuoteMeta(rest[:1])
		}
	}
	return out + "$"
}
