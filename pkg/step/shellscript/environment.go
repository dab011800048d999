package shellscript

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The ways in which a script gets the values of its expressions.
const (
	asText        = "Text"        // in its text, as Harness does
	asEnvironment = "Environment" // beside it: no value is ever read as code
)

// ownVariable is what the variables are called that stand for expressions.
var ownVariable = regexp.MustCompile(`^SLIPWAY_\d+$`)

// endMark stands at the end of each of their values, so that an expression that
// gives a list or a mapping becomes a text, as it would within a script. It is
// taken off before a delegate gets them.
const endMark = "|"

// maxVariable bounds a variable of the environment, in bytes: Linux takes
// 128 KiB of one, with its name.
const maxVariable = 128<<10 - 64

// hole is an expression of a script, where it stands.
type hole struct {
	expression string
	line       int    // of the script, from 1
	put        string // what stands for it, with %s for the variable's name
	wrong      string // why nothing can
}

// holes finds the expressions of a script and what can stand for each.
func holes(shell, script string) ([]expr.Piece, []hole, error) {
	pieces, err := expr.Split(script)
	if err != nil {
		return nil, nil, err
	}
	if strings.ContainsRune(script, blank) {
		return nil, nil, fault.New(fault.Invalid, "the script holds a NUL")
	}
	var text strings.Builder
	var out []hole
	for _, p := range pieces {
		if p.Expression {
			out = append(out, hole{expression: p.Text, line: strings.Count(text.String(), "\n") + 1})
			text.WriteRune(blank)
			continue
		}
		text.WriteString(p.Text)
	}
	if len(out) == 1 && strings.TrimSpace(text.String()) == string(blank) {
		out[0].wrong = "is the script as a whole, which is read as code"
		return pieces, out, nil
	}
	places := bashPlaces
	if shell == "PowerShell" {
		places = powerShellPlaces
	}
	if l := strings.TrimSpace(firstLine(script)); strings.HasPrefix(l, "#!") && !shellLine.MatchString(l) {
		for i := range out {
			out[i].wrong = "stands in a script of another language than a shell's"
		}
		return pieces, out, nil
	}
	for i, p := range places(text.String()) {
		out[i].put, out[i].wrong = p.put, p.wrong
	}
	return pieces, out, nil
}

var shellLine = regexp.MustCompile(`\b(sh|bash|dash|ash|ksh|mksh|zsh|pwsh|powershell)\b`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// byEnvironment says whether a spec gives its script the values beside it.
func byEnvironment(spec *yamldoc.Node) bool {
	n := spec.Get("expressions")
	return n != nil && n.Value == asEnvironment
}

// checkEnvironment reports the expressions of a script for which no variable
// can stand, and what else doesn't go with the option.
func (s *Script) checkEnvironment(v yamldoc.Value, d *document.Decoder) {
	if n := v.Node.At("source", "type"); n != nil && n.Value == "Harness" {
		d.Unsupported(yamldoc.Sub(v.Node.Get("expressions"), "expressions"), "expressions of a file of the file store are replaced in its text; want the script in source.spec.script")
		return
	}
	for _, e := range s.Environment {
		if ownVariable.MatchString(e.Name.Value) && !d.IsResolved() {
			d.Errorf(e.At, "WRONG_VALUE", "found the variable %s; with expressions: %s such a name stands for an expression", e.Name.Value, asEnvironment)
		}
	}
	at := yamldoc.Sub(v.Node.At("source", "spec", "script"), "source.spec.script")
	if !at.Is(yamldoc.Scalar) || expr.IsRuntimeInput(at.Node.Value) || d.IsResolved() {
		return
	}
	_, found, err := holes(shellOf(v.Node), at.Node.Value)
	if err != nil {
		return // the syntax of expressions is checked by itself
	}
	for _, h := range found {
		if h.wrong != "" {
			d.Errorf(at, "WRONG_VALUE", "line %d of the script: %s %s; no variable can stand for it there", h.line, h.expression, h.wrong)
		}
	}
}

func shellOf(spec *yamldoc.Node) string {
	if n := spec.Get("shell"); n != nil {
		return n.Value
	}
	return ""
}

// prepare puts variables in the place of a script's expressions, and the
// expressions into the environment, where they are resolved like any other.
func prepare(spec *yamldoc.Node) (*yamldoc.Node, error) {
	script := spec.At("source", "spec", "script")
	if !byEnvironment(spec) || script == nil || !strings.Contains(script.Value, "<+") {
		return spec, nil
	}
	pieces, found, err := holes(shellOf(spec), script.Value)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	var names []string // by number, the expressions
	for _, p := range pieces {
		if !p.Expression {
			text.WriteString(p.Text)
			continue
		}
		h := found[0]
		found = found[1:]
		if h.wrong != "" {
			return nil, fault.New(fault.Invalid, "line %d of the script: %s %s; no variable can stand for it there", h.line, h.expression, h.wrong)
		}
		n := slices.Index(names, p.Text)
		if n < 0 {
			n = len(names)
			names = append(names, p.Text)
		}
		fmt.Fprintf(&text, h.put, "SLIPWAY_"+strconv.Itoa(n+1))
	}
	return written(spec, text.String(), names), nil
}

// written is a copy of the spec with another script and more variables.
func written(spec *yamldoc.Node, script string, expressions []string) *yamldoc.Node {
	old := spec.At("source", "spec", "script")
	text := *old
	text.Value, text.Tag = script, yamldoc.Str
	inner := with(spec.At("source", "spec"), "script", &text)
	out := with(spec, "source", with(spec.Get("source"), "spec", inner))
	env := &yamldoc.Node{Kind: yamldoc.Sequence, Line: old.Line, Column: old.Column}
	if own := spec.Get("environmentVariables"); own != nil && own.Kind == yamldoc.Sequence {
		env.Items = slices.Clone(own.Items)
	}
	for i, e := range expressions {
		env.Items = append(env.Items, yamldoc.FromAny(map[string]any{
			"name": "SLIPWAY_" + strconv.Itoa(i+1), "type": "String", "value": e + endMark,
		}, old.Line, old.Column))
	}
	return with(out, "environmentVariables", env)
}

// with is a copy of a mapping with another value of a key.
func with(n *yamldoc.Node, key string, value *yamldoc.Node) *yamldoc.Node {
	c := *n
	c.Entries = slices.DeleteFunc(slices.Clone(n.Entries), func(e yamldoc.Entry) bool { return e.Key == key })
	c.Entries = append(c.Entries, yamldoc.Entry{Key: key, Line: n.Line, Column: n.Column, Value: value})
	return &c
}

// unmark takes the marks off the values that stand for expressions.
func unmark(env map[string]string) error {
	for name, value := range env {
		if !ownVariable.MatchString(name) {
			continue
		}
		value = strings.TrimSuffix(value, endMark)
		if len(value) > maxVariable {
			return fault.New(fault.TooLarge, "the value of an expression of the script has %d bytes; a variable of the environment may have %d", len(value), maxVariable)
		}
		env[name] = value
	}
	return nil
}
