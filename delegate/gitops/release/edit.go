package release

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
)

// edited is a file with values set. What isn't set stays as it is written: comments,
// order, quotes and spaces. skip leaves out values whose list has no such item.
func edited(file string, text []byte, values []errand.Value, skip bool) ([]byte, error) {
	e := &editor{file: file, text: string(text)}
	switch strings.ToLower(path.Ext(file)) {
	case ".yaml", ".yml":
	case ".json":
		e.json = true
	default:
		return nil, fault.New(fault.Invalid, "%s is neither YAML nor JSON by its name; want .yaml, .yml or .json", file)
	}
	for _, v := range values {
		at, err := placeOf(v.Path)
		if err != nil {
			return nil, err
		}
		err = e.set(at, v)
		if errors.Is(err, errNoItem) && skip {
			continue
		}
		if err != nil {
			return nil, fault.Wrap(err, "%s: %s", file, v.Path)
		}
	}
	return []byte(e.text), nil
}

// errNoItem is that a place leads to an item that a list doesn't have.
var errNoItem = errors.New("the list has no such item")

// editor sets values in a text, one after the other.
type editor struct {
	file string
	text string
	json bool
}

// documents parses the text.
func (e *editor) documents() ([]*yaml.Node, error) {
	var all []*yaml.Node
	for d := yaml.NewDecoder(strings.NewReader(e.text)); ; {
		var doc yaml.Node
		err := d.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fault.New(fault.Invalid, "it can't be read: %w", err)
		}
		all = append(all, &doc)
	}
}

func (e *editor) set(at []segment, v errand.Value) error {
	docs, err := e.documents()
	if err != nil {
		return err
	}
	chosen := 0
	for i, doc := range docs {
		if _, rest, err := walk(doc, at); err == nil && len(rest) == 0 {
			chosen = i
			break
		}
	}
	if len(docs) == 0 || docs[chosen].Content == nil || docs[chosen].Content[0].Tag == "!!null" {
		return e.anew(docs, chosen, at, v)
	}
	node, rest, err := walk(docs[chosen], at)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		if node.Kind != yaml.ScalarNode {
			return fault.New(fault.Invalid, "found a %s there; want a single value", kindOf(node))
		}
		if done := e.replace(node, v); done {
			return nil
		}
	} else if node.Kind != yaml.MappingNode {
		return fault.New(fault.Invalid, "found a %s where %q would be a key", kindOf(node), rest[0].key)
	} else if done := e.insert(node, rest, v); done {
		return nil
	}
	return e.rewrite(docs, node, rest, v)
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "mapping"
	case yaml.SequenceNode:
		return "list"
	default:
		return "single value"
	}
}

// walk follows a place as far as it is there, and gives the rest of it.
func walk(n *yaml.Node, at []segment) (*yaml.Node, []segment, error) {
	for n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	for len(at) > 0 {
		if n.Kind == yaml.AliasNode {
			return nil, nil, fault.New(fault.Invalid, "it leads through the alias *%s, whose anchor others have, too", n.Value)
		}
		if at[0].item >= 0 {
			if n.Kind != yaml.SequenceNode || at[0].item >= len(n.Content) {
				return nil, nil, fault.New(fault.Invalid, "item %d: %w", at[0].item, errNoItem)
			}
			n, at = n.Content[at[0].item], at[1:]
			continue
		}
		next := value(n, at[0].key)
		if next == nil {
			if slices.ContainsFunc(at, func(s segment) bool { return s.item >= 0 }) {
				return nil, nil, fault.New(fault.Invalid, "%q isn't there: %w", at[0].key, errNoItem)
			}
			return n, at, nil
		}
		n, at = next, at[1:]
	}
	return n, nil, nil
}

// value is that of a key; nil: there is none.
func value(n *yaml.Node, key string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// written is a value as it stands in a text. style is that of what was there.
func (e *editor) written(v errand.Value, style yaml.Style) string {
	switch {
	case v.Number:
		return v.Value
	case e.json || style&yaml.DoubleQuotedStyle != 0:
		return quoted(v.Value)
	case style&yaml.SingleQuotedStyle != 0 && !strings.ContainsAny(v.Value, "\n\r\t"):
		return "'" + strings.ReplaceAll(v.Value, "'", "''") + "'"
	}
	if slices.Contains(truths(), strings.ToLower(v.Value)) {
		return quoted(v.Value)
	}
	// Plain, if that reads as the same text, whatever stands around it.
	var probe struct{ A []any }
	if err := yaml.Unmarshal([]byte("a: ["+v.Value+"]"), &probe); err == nil && len(probe.A) == 1 && probe.A[0] == any(v.Value) && !strings.ContainsAny(v.Value, "\n\r\t#") {
		return v.Value
	}
	return quoted(v.Value)
}

// truths are the words that some readers of YAML take for true and false.
func truths() []string { return []string{"y", "n", "yes", "no", "on", "off"} }

// quoted is a text in double quotes, as JSON and YAML have them.
func quoted(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text always has a form
	return strings.TrimSuffix(b.String(), "\n")
}

// offset is where a node begins in the text; -1: that isn't known.
func (e *editor) offset(n *yaml.Node) int {
	at := 0
	for range n.Line - 1 {
		next := strings.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return -1
		}
		at += next + 1
	}
	for range n.Column - 1 { // columns count characters
		if at >= len(e.text) {
			return -1
		}
		at += len(string([]rune(e.text[at:min(at+4, len(e.text))])[0]))
	}
	return at
}

// replace changes a single value in its place, if it stands on one line.
func (e *editor) replace(n *yaml.Node, v errand.Value) bool {
	at := e.offset(n)
	if at < 0 || n.Anchor != "" || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 || n.Kind == yaml.AliasNode {
		return false
	}
	line, _, _ := strings.Cut(e.text[at:], "\n")
	length := -1
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		length = closing(line, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		length = closing(line, '\'')
	case n.Value != "" && strings.HasPrefix(line, n.Value):
		length = len(n.Value)
	}
	if length < 0 {
		return false
	}
	return e.try(e.text[:at] + e.written(v, n.Style) + e.text[at+length:])
}

// try takes a text if it can still be read.
func (e *editor) try(text string) bool {
	if _, err := (&editor{text: text}).documents(); err != nil {
		return false
	}
	e.text = text
	return true
}

// closing is the length of a quoted text at the beginning of a line; -1: it doesn't
// end there.
func closing(line string, quote byte) int {
	for i := 1; i < len(line); i++ {
		switch {
		case line[i] == '\\' && quote == '"':
			i++
		case line[i] == quote && quote == '\'' && i+1 < len(line) && line[i+1] == quote:
			i++
		case line[i] == quote:
			return i + 1
		}
	}
	return -1
}

// insert adds keys at the end of a mapping that has a line for each key.
func (e *editor) insert(n *yaml.Node, rest []segment, v errand.Value) bool {
	if e.json || n.Style&yaml.FlowStyle != 0 || len(n.Content) == 0 {
		return false
	}
	last := n.Content[len(n.Content)-2]
	indent := n.Content[0].Column - 1
	lines := strings.SplitAfter(e.text, "\n")
	end := last.Line // of the next line, counted from 0
	for at := end; at < len(lines); at++ {
		text := strings.TrimRight(lines[at], "\r\n")
		bare := strings.TrimLeft(text, " ")
		deep := len(text) - len(bare)
		if bare == "" {
			continue // only if something follows that belongs to the key
		}
		item := deep == indent && (bare == "-" || strings.HasPrefix(bare, "- ")) && n.Content[len(n.Content)-1].Kind == yaml.SequenceNode
		if deep <= indent && !item {
			break
		}
		end = at + 1
	}
	var b strings.Builder
	for _, line := range lines[:end] {
		b.WriteString(line)
	}
	if text := b.String(); text != "" && !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(e.keys(rest, indent, v))
	for _, line := range lines[end:] {
		b.WriteString(line)
	}
	return e.try(b.String())
}

// keys are the lines of new keys, one in the other.
func (e *editor) keys(rest []segment, indent int, v errand.Value) string {
	var b strings.Builder
	for i, s := range rest {
		b.WriteString(strings.Repeat(" ", indent+2*i) + e.written(errand.Value{Value: s.key}, 0) + ":")
		if i == len(rest)-1 {
			b.WriteString(" " + e.written(v, 0))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// anew writes the first value of a file, or of a document, that has nothing in it.
func (e *editor) anew(docs []*yaml.Node, chosen int, at []segment, v errand.Value) error {
	if slices.ContainsFunc(at, func(s segment) bool { return s.item >= 0 }) {
		return fault.New(fault.Invalid, "nothing is there: %w", errNoItem)
	}
	if len(docs) > 1 {
		return fault.New(fault.Invalid, "document %d of the file is empty, so nothing can be set there", chosen+1)
	}
	if !e.json {
		if e.text != "" && !strings.HasSuffix(e.text, "\n") {
			e.text += "\n"
		}
		e.text += e.keys(at, 0, v)
		return nil
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	put(root, at, e.scalar(v))
	text, err := jsonOf(root, "", "  ")
	e.text = text + "\n"
	return err
}

// scalar is a node of a value.
func (e *editor) scalar(v errand.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: v.Value, Tag: "!!str"}
	if v.Number {
		n.Tag = ""
	}
	return n
}

// put adds keys to a mapping.
func put(n *yaml.Node, rest []segment, v *yaml.Node) {
	for i, s := range rest {
		next := v
		if i < len(rest)-1 {
			next = &yaml.Node{Kind: yaml.MappingNode}
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s.key}, next)
		n = next
	}
}

// rewrite changes what doesn't stand on a line of its own: all of the file is written
// again.
func (e *editor) rewrite(docs []*yaml.Node, node *yaml.Node, rest []segment, v errand.Value) error {
	if len(rest) == 0 {
		n := e.scalar(v)
		node.Value, node.Tag, node.Style = n.Value, n.Tag, 0
	} else {
		put(node, rest, e.scalar(v))
	}
	if e.json {
		indent := "  "
		for line := range strings.Lines(e.text) {
			if bare := strings.TrimLeft(line, " \t"); len(bare) < len(line) && strings.TrimSpace(bare) != "" {
				indent = line[:len(line)-len(bare)]
				break
			}
		}
		text, err := jsonOf(docs[0].Content[0], "", indent)
		e.text = text + "\n"
		return err
	}
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	for _, doc := range docs {
		if err := enc.Encode(doc); err != nil {
			return fmt.Errorf("write it: %w", err)
		}
	}
	e.text = b.String()
	return nil
}

// jsonOf writes a node as JSON, its keys in their order.
func jsonOf(n *yaml.Node, before, indent string) (string, error) {
	inner := before + indent
	var parts []string
	opening, closing := "{", "}"
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			text, err := jsonOf(n.Content[i+1], inner, indent)
			if err != nil {
				return "", err
			}
			parts = append(parts, quoted(n.Content[i].Value)+": "+text)
		}
	case yaml.SequenceNode:
		opening, closing = "[", "]"
		for _, item := range n.Content {
			text, err := jsonOf(item, inner, indent)
			if err != nil {
				return "", err
			}
			parts = append(parts, text)
		}
	case yaml.ScalarNode:
		if n.Tag == "!!str" || n.Style&yaml.DoubleQuotedStyle != 0 {
			return quoted(n.Value), nil
		}
		if !json.Valid([]byte(n.Value)) {
			return "", fault.New(fault.Invalid, "found %s, which isn't JSON", n.Value)
		}
		return n.Value, nil
	default:
		return "", fault.New(fault.Invalid, "found what isn't JSON in line %d", n.Line)
	}
	if len(parts) == 0 {
		return opening + closing, nil
	}
	return opening + "\n" + inner + strings.Join(parts, ",\n"+inner) + "\n" + before + closing, nil
}
