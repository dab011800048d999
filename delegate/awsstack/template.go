package awsstack

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// maxNodes bounds how much a template comes to whose parts name others.
const maxNodes = 500_000

// parse reads a template, in YAML or in JSON: functions of CloudFormation are there
// as JSON writes them, whichever way they are written.
func parse(template string) (map[string]any, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(template), &doc); err != nil {
		return nil, fault.New(fault.Invalid, "the template isn't YAML: %w", err).Causing(fault.ConfigurationFailure)
	}
	if len(doc.Content) == 0 {
		return map[string]any{}, nil
	}
	p := parser{left: maxNodes}
	v, err := p.value(doc.Content[0])
	if err != nil {
		return nil, err
	}
	all, ok := v.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "the template is no mapping").Causing(fault.ConfigurationFailure)
	}
	return all, nil
}

type parser struct{ left int }

func (p *parser) value(n *yaml.Node) (any, error) {
	if p.left--; p.left < 0 {
		return nil, fault.New(fault.TooLarge, "the template has more than %d parts", maxNodes).Causing(fault.ConfigurationFailure)
	}
	if n.Kind == yaml.AliasNode {
		return p.value(n.Alias)
	}
	v, err := p.plain(n)
	if err != nil {
		return nil, err
	}
	name, short := strings.CutPrefix(n.Tag, "!")
	if !short || name == "" || strings.HasPrefix(name, "!") {
		return v, nil
	}
	if name != "Ref" && name != "Condition" {
		name = "Fn::" + name
	}
	return function(name, v), nil
}

// function is one of CloudFormation's, which takes the names of an attribute as one
// text, too.
func function(name string, v any) map[string]any {
	if text, ok := v.(string); ok && name == "Fn::GetAtt" {
		if of, attribute, found := strings.Cut(text, "."); found {
			v = []any{of, attribute}
		}
	}
	return map[string]any{name: v}
}

func (p *parser) plain(n *yaml.Node) (any, error) {
	switch n.Kind { //nolint:exhaustive // others aren't inside of a document
	case yaml.MappingNode:
		return p.mapping(n)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			v, err := p.value(item)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	switch n.Tag {
	case "!!int", "!!float", "!!bool", "!!null":
		var v any
		if err := n.Decode(&v); err != nil {
			return nil, fmt.Errorf("line %d of the template: %w", n.Line, err)
		}
		return v, nil
	}
	return n.Value, nil
}

func (p *parser) mapping(n *yaml.Node) (any, error) {
	out := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, err := p.value(n.Content[i+1])
		if err != nil {
			return nil, err
		}
		out[key.Value] = v
	}
	if merged, ok := out["<<"].(map[string]any); ok {
		delete(out, "<<")
		for key, v := range merged {
			if _, own := out[key]; !own {
				out[key] = v
			}
		}
	}
	if text, ok := out["Fn::GetAtt"].(string); ok && len(out) == 1 {
		return function("Fn::GetAtt", text), nil
	}
	return out, nil
}
