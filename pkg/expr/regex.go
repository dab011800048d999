package expr

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxPattern bounds regular expressions, in bytes. They are RE2's: Java's
// look-around, back-references and possessive quantifiers don't exist, and
// matching takes linear time.
const maxPattern = 4 << 10

// regex compiles a pattern once per evaluation.
func (e *evaluator) regex(pattern string) (*regexp.Regexp, error) {
	if re, ok := e.exprs[pattern]; ok {
		return re, nil
	}
	re, err := compileRegex(pattern)
	if err != nil {
		return nil, err
	}
	if e.exprs == nil {
		e.exprs = map[string]*regexp.Regexp{}
	}
	e.exprs[pattern] = re
	return re, e.spend(len(pattern) * stepBytes)
}

func compileRegex(pattern string) (*regexp.Regexp, error) {
	if len(pattern) > maxPattern {
		return nil, tooLarge("a regular expression may have %d bytes; this one has %d", maxPattern, len(pattern))
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("regular expression %q: %w", pattern, err)
	}
	return re, nil
}

// fullMatch says whether all of the text matches, as Java's matches does.
func (e *evaluator) fullMatch(pattern, text string) (bool, error) {
	if _, err := e.regex(pattern); err != nil {
		return false, err // before it is wrapped: a)(b would become valid
	}
	re, err := e.regex(whole(pattern))
	if err != nil {
		return false, err
	}
	return re.MatchString(text), e.scanned(re, text)
}

func whole(pattern string) string { return `\A(?:` + pattern + `)\z` }

// scanned counts the work of matching: text times the size of the pattern at
// worst, and many times slower than copying.
func (e *evaluator) scanned(re *regexp.Regexp, text string) error {
	const cost = 8
	return e.spend(len(text) * cost * (1 + len(re.String())/stepBytes))
}

// replaceRegex replaces the first n matches (all if n < 0) by a replacement
// in Java's notation: $1, ${name}, \$.
func (e *evaluator) replaceRegex(text, pattern, with string, n int) (string, error) {
	re, err := e.regex(pattern)
	if err != nil {
		return "", err
	}
	if err := e.scanned(re, text); err != nil {
		return "", err
	}
	parts, err := replacement(re, with)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	end := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, n) {
		b.WriteString(text[end:m[0]])
		for _, p := range parts {
			if p.group < 0 {
				b.WriteString(p.text)
			} else if from := m[2*p.group]; from >= 0 {
				b.WriteString(text[from:m[2*p.group+1]])
			}
		}
		if b.Len() > maxValue {
			return "", sizeError(b.Len())
		}
		end = m[1]
	}
	b.WriteString(text[end:])
	return b.String(), e.made(-1, b.Len())
}

// replacementPart is literal text, or a group if group >= 0.
type replacementPart struct {
	text  string
	group int
}

func replacement(re *regexp.Regexp, with string) ([]replacementPart, error) {
	var parts []replacementPart
	var b strings.Builder
	for i := 0; i < len(with); i++ {
		switch c := with[i]; {
		case c == '\\' && i+1 < len(with):
			i++
			b.WriteByte(with[i])
		case c == '$':
			group, width, err := groupAt(re, with[i+1:])
			if err != nil {
				return nil, fmt.Errorf("replacement %q: %w", with, err)
			}
			parts = append(parts, replacementPart{b.String(), -1}, replacementPart{group: group})
			b.Reset()
			i += width
		default:
			b.WriteByte(c)
		}
	}
	return append(parts, replacementPart{b.String(), -1}), nil
}

// groupAt reads what follows a $: {name}, or a number with as many digits as
// there are groups for.
func groupAt(re *regexp.Regexp, s string) (group, width int, err error) {
	if name, _, ok := strings.Cut(strings.TrimPrefix(s, "{"), "}"); ok && strings.HasPrefix(s, "{") {
		if group = re.SubexpIndex(name); group < 0 {
			return 0, 0, fmt.Errorf("there is no group %q", name)
		}
		return group, len(name) + len("{}"), nil
	}
	for width < len(s) && isDigit(s[width]) {
		next, err := strconv.Atoi(s[:width+1])
		if err != nil || next > re.NumSubexp() {
			break
		}
		group = next
		width++
	}
	if width == 0 {
		return 0, 0, fmt.Errorf(`$ isn't followed by one of the %d groups; a plain $ is written \$`, re.NumSubexp())
	}
	return group, width, nil
}

// splitRegex is Java's split: an empty match at the start cuts nothing off,
// and with limit 0 empty texts at the end are dropped.
func (e *evaluator) splitRegex(text, pattern string, limit int) ([]Value, error) {
	re, err := e.regex(pattern)
	if err != nil {
		return nil, err
	}
	if err := e.scanned(re, text); err != nil {
		return nil, err
	}
	var out []Value
	end := 0
	for _, m := range re.FindAllStringIndex(text, -1) {
		if limit > 0 && len(out) == limit-1 {
			break
		}
		if m[1] == 0 || m[0] == m[1] && m[0] == len(text) {
			continue
		}
		out = append(out, String(text[end:m[0]]))
		end = m[1]
		if len(out) >= maxElements {
			return nil, tooLarge("a list may have %d elements; this split makes more", maxElements)
		}
	}
	if out == nil {
		return []Value{String(text)}, nil // no match: the text itself, even if empty
	}
	out = append(out, String(text[end:]))
	for limit == 0 && len(out) > 0 && out[len(out)-1].text == "" {
		out = out[:len(out)-1]
	}
	return out, nil
}

// patternAndText reads the arguments of regex.extract and regex.match.
func (e *evaluator) patternAndText(args []Value) (*regexp.Regexp, string, error) {
	if slices.ContainsFunc(args, Value.IsNull) {
		return nil, "", errors.New("an argument is null")
	}
	re, err := e.regex(args[0].Text())
	if err != nil {
		return nil, "", err
	}
	text, err := e.text(args[1])
	if err != nil {
		return nil, "", err
	}
	return re, text, e.scanned(re, text)
}
