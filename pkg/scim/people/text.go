package people

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// change is what becomes of a key of a document: a text, true or false, a list of
// texts or a mapping; nil: the key goes.
type change struct {
	key   string
	value any
}

// rewritten is a document with other values: those that nobody changes stay as they
// were written. Of none it is a new one.
func rewritten(kind ref.Kind, old []byte, changes ...change) ([]byte, error) {
	return edited(kind, old, func(body *yaml.Node) error {
		for _, c := range changes {
			if c.value == nil {
				drop(body, c.key)
				continue
			}
			var v yaml.Node
			if err := v.Encode(c.value); err != nil {
				return fmt.Errorf("write %s of the %s: %w", c.key, kind, err)
			}
			put(body, c.key, &v)
		}
		return nil
	})
}

// edited is a document whose body is changed.
func edited(kind ref.Kind, old []byte, change func(body *yaml.Node) error) ([]byte, error) {
	return yamldoc.Edit(old, func(root *yaml.Node) error {
		if root.Kind == 0 {
			*root = yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
		}
		body := at(root.Content[0], string(kind))
		if body == nil {
			body = &yaml.Node{Kind: yaml.MappingNode}
			put(root.Content[0], string(kind), body)
		}
		root.Content[0].Style, body.Style = 0, 0 // one key a line
		return change(body)
	})
}

func at(m *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			return m.Content[i+1]
		}
	}
	return nil
}

func put(m *yaml.Node, key string, v *yaml.Node) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content[i+1] = v
			return
		}
	}
	m.Content = append(m.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v)
}

func drop(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
			return
		}
	}
}

// orNil is a value, or nothing where it is empty.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// said is a mapping of what a directory says; nothing where it says nothing.
func said(pairs ...string) any {
	out := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			out[pairs[i]] = pairs[i+1]
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

var unnamed = regexp.MustCompile(`[^-0-9a-zA-Z_ .]+`)

// nameOf is a name that a document may have, by what a directory calls somebody, and
// that if it is another.
func nameOf(display, id string) (name, sent string) {
	if ref.CheckName(display) == nil {
		return display, ""
	}
	name = strings.Join(strings.Fields(unnamed.ReplaceAllString(display, "")), " ")
	if ref.CheckName(name) != nil {
		name = id
	}
	return name, display
}
