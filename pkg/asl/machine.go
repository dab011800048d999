package asl

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Machine is a definition that has been checked.
type Machine struct {
	Name   string
	text   string // the definition
	hash   string // of the text
	states *states
}

// states is a StartAt with its States: a machine's, a branch's or an item
// processor's.
type states struct {
	StartAt string
	States  map[string]*state
}

// Parse loads a definition. Placeholders such as ${EngineFunctionArn} are
// replaced first, as CloudFormation's DefinitionSubstitutions are. An error
// names the place in the definition that isn't supported or is wrong.
func Parse(name string, definition []byte, substitutions map[string]string) (*Machine, error) {
	text := string(definition)
	for k, v := range substitutions {
		text = strings.ReplaceAll(text, "${"+k+"}", v)
	}
	m := &Machine{Name: name, text: text, hash: hashOf(text)}
	var err error
	if m.states, err = parseMachine([]byte(text)); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	return m, nil
}

func parseMachine(text []byte) (*states, error) {
	if err := wellFormed(text); err != nil {
		return nil, err
	}
	s, keys, err := parseStates(text, "Version", "QueryLanguage")
	if err != nil {
		return nil, err
	}
	language, version := "JSONPath", "1.0"
	if err := fillFields(keys, map[string]any{"QueryLanguage": &language, "Version": &version}); err != nil {
		return nil, err
	}
	if language != "JSONPath" {
		return nil, fmt.Errorf("QueryLanguage is %q; want JSONPath", language)
	}
	if version != "1.0" {
		return nil, fmt.Errorf("Version is %q; want 1.0", version) //nolint:staticcheck // the name of a field
	}
	return s, s.checkNames(map[string]bool{})
}

// parseStates reads a machine, a branch or an item processor.
func parseStates(data []byte, more ...string) (*states, map[string]json.RawMessage, error) {
	keys, err := object(data, append([]string{"Comment", "StartAt", "States"}, more...), nil)
	if err != nil {
		return nil, nil, err
	}
	s := &states{States: map[string]*state{}}
	var comment string
	var raw map[string]json.RawMessage
	if err := fillFields(keys, map[string]any{"Comment": &comment, "StartAt": &s.StartAt, "States": &raw}); err != nil {
		return nil, nil, err
	}
	for name, doc := range raw {
		if s.States[name], err = parseState(doc); err != nil {
			return nil, nil, fmt.Errorf("state %s: %w", name, err)
		}
	}
	return s, keys, s.check()
}

// UnmarshalJSON reads a branch.
func (s *states) UnmarshalJSON(data []byte) error {
	parsed, _, err := parseStates(data)
	if err == nil {
		*s = *parsed
	}
	return err
}

// processor is what a Map does with each item.
type processor struct{ states }

// UnmarshalJSON reads an item processor.
func (p *processor) UnmarshalJSON(data []byte) error {
	s, keys, err := parseStates(data, "ProcessorConfig")
	if err != nil {
		return err
	}
	if config, ok := keys["ProcessorConfig"]; ok {
		fields, err := object(config, []string{"Mode"}, nil)
		if err != nil {
			return fmt.Errorf("ProcessorConfig: %w", err)
		}
		mode := "INLINE"
		if err := fillFields(fields, map[string]any{"Mode": &mode}); err != nil {
			return fmt.Errorf("ProcessorConfig: %w", err)
		}
		if mode != "INLINE" {
			return fmt.Errorf("the processor's Mode is %q; want INLINE", mode)
		}
	}
	p.states = *s
	return nil
}

var errNoStates = errors.New("at least one of States is needed")
