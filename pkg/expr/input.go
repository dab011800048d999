package expr

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// InputPrefix begins a runtime input; its suffixes follow.
const InputPrefix = "<+input>"

// Input is a runtime input, `<+input>` with its suffixes
// (semantics/pipeline §2.1).
type Input struct {
	Default    string // the value if none is given; may have expressions
	HasDefault bool
	Allowed    []string // allowedValues: the value is one of them
	One        []string // selectOneFrom: the same
	Many       []string // selectManyFrom: the value is some of them, with commas between
	Regex      string   // the value matches all of it
	AtStart    bool     // executionInput: asked for when the node starts
}

// IsRuntimeInput says whether a scalar is a runtime input: the whole of it
// is `<+input>` with or without suffixes, or a ternary with such a branch.
func IsRuntimeInput(text string) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<+") || !strings.Contains(text, InputPrefix) {
		return false
	}
	if rest, ok := strings.CutPrefix(text, InputPrefix); ok {
		_, _, ok := firstSuffix(rest)
		return rest == "" || ok
	}
	return inputBranch(text)
}

// inputBranch recognises <+cond?<+input>:x>, which stands for a plain input.
func inputBranch(text string) bool {
	got, err := parseBracket(text, 0)
	if err != nil || got.end != len(text) {
		return false
	}
	t, ok := got.node.(*ternary)
	return ok && (isInput(t.yes) || isInput(t.no))
}

func isInput(n node) bool {
	p, ok := n.(*path)
	return ok && slices.Equal(p.static, []string{"input"})
}

// ParseInput reads a runtime input.
func ParseInput(text string) (Input, error) {
	text = strings.TrimSpace(text)
	rest, ok := strings.CutPrefix(text, InputPrefix)
	if !ok {
		if strings.HasPrefix(text, "<+") && inputBranch(text) {
			return Input{}, nil
		}
		return Input{}, fmt.Errorf("%s isn't a runtime input; <+input> is expected", excerpt(text, 0))
	}
	var in Input
	seen := map[string]bool{}
	for rest != "" {
		name, after, ok := firstSuffix(rest)
		if !ok {
			return Input{}, fmt.Errorf("found %s after <+input>; one of .default(), .allowedValues(), .selectOneFrom(), .selectManyFrom(), .regex() and .executionInput() is expected", excerpt(rest, 0))
		}
		if seen[name] {
			return Input{}, fmt.Errorf("the runtime input has .%s() twice", name)
		}
		seen[name] = true
		arg, left, err := suffixArgument(after)
		if err != nil {
			return Input{}, fmt.Errorf(".%s: %w", name, err)
		}
		if err := in.set(name, arg); err != nil {
			return Input{}, fmt.Errorf(".%s(): %w", name, err)
		}
		rest = left
	}
	return in, in.consistent()
}

func suffixNames() []string {
	return []string{"default", "allowedValues", "selectOneFrom", "selectManyFrom", "regex", "executionInput"}
}

// firstSuffix recognises ".name(" and gives what follows it.
func firstSuffix(s string) (name, after string, ok bool) {
	for _, name := range suffixNames() {
		if after, ok := strings.CutPrefix(s, "."+name+"("); ok {
			return name, after, true
		}
	}
	return "", "", false
}

// suffixArgument cuts off an argument. It ends at the last ) before the next
// suffix, so that it may have parentheses in it without balance.
func suffixArgument(s string) (arg, rest string, err error) {
	for i := 0; i < len(s); i++ {
		if s[i] != ')' {
			continue
		}
		if _, _, ok := firstSuffix(s[i+1:]); ok || i == len(s)-1 {
			return s[:i], s[i+1:], nil
		}
	}
	return "", "", errors.New(`its ")" is missing`)
}

func (in *Input) set(name, arg string) error {
	if name == "executionInput" {
		in.AtStart = true
		if strings.TrimSpace(arg) != "" {
			return fmt.Errorf("found %q; it takes no argument", arg)
		}
		return nil
	}
	if arg == "" {
		return errors.New("it is empty; a value is expected")
	}
	if name != "regex" {
		if wrong := strayed(arg); wrong != "" {
			return fmt.Errorf("unknown suffix .%s()", wrong)
		}
	}
	switch name {
	case "default":
		in.Default, in.HasDefault = unquote(strings.TrimSpace(arg)), true
	case "allowedValues":
		in.Allowed = items(arg)
	case "selectOneFrom":
		in.One = items(arg)
	case "selectManyFrom":
		in.Many = items(arg)
	case "regex":
		in.Regex = arg
		if strings.Contains(arg, "<+") {
			return nil
		}
		_, err := compileRegex(arg)
		return err
	}
	return nil
}

// strayed finds a misspelt suffix, which the argument before it has taken in:
// it stands after a ) that closes nothing of the argument.
func strayed(arg string) string {
	open := 0
	for i := range len(arg) {
		switch arg[i] {
		case '(':
			open++
		case ')':
			open--
			if rest, ok := strings.CutPrefix(arg[i+1:], "."); ok && open < 0 {
				name, _, ok := strings.Cut(rest, "(")
				if ok && name != "" && strings.Trim(name, letters) == "" {
					return name
				}
			}
		}
	}
	return ""
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// items splits a list at its commas, except those inside quotes (\'a,b\') and
// inside expressions.
func items(arg string) []string {
	var out []string
	start, open := 0, 0
	for i := 0; i < len(arg); i++ {
		switch {
		case strings.HasPrefix(arg[i:], "<+"):
			open++
		case arg[i] == '>' && open > 0:
			open--
		case strings.HasPrefix(arg[i:], `\'`) && open == 0:
			if end := strings.Index(arg[i+2:], `\'`); end >= 0 {
				i += end + 3
			}
		case arg[i] == ',' && open == 0:
			out = append(out, unquote(strings.TrimSpace(arg[start:i])))
			start = i + 1
		}
	}
	return append(out, unquote(strings.TrimSpace(arg[start:])))
}

// unquote takes off the quotes around a value: \'..\', '..' or "..".
func unquote(s string) string {
	for _, q := range []string{`\'`, `\"`, `'`, `"`} {
		if len(s) >= 2*len(q) && strings.HasPrefix(s, q) && strings.HasSuffix(s, q) {
			inner := s[len(q) : len(s)-len(q)]
			if !strings.Contains(inner, q) {
				return inner
			}
		}
	}
	return s
}
