// Package asl runs definitions in the Amazon States Language durably on one
// machine: the same files that Step Functions runs on AWS (design, decision 6).
//
// It covers the part of the language that Slipway's definitions use, to the
// letter of the specification (https://states-language.net/spec.html), with
// JSONPath as the query language, and refuses the rest when a definition is
// loaded. It knows nothing of pipelines.
package asl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// state is one state as written. Which fields a type may have is in fields.
type state struct {
	Type    string
	Comment string
	Next    string
	End     bool

	InputPath      *path
	OutputPath     *path
	ResultPath     *path
	Parameters     *template
	ResultSelector *template
	Result         json.RawMessage

	Resource             string
	TimeoutSeconds       int64
	TimeoutSecondsPath   *path
	HeartbeatSeconds     int64
	HeartbeatSecondsPath *path
	Retry                []retrier
	Catch                []catcher

	Choices []choice
	Default string

	Seconds       int64
	SecondsPath   *path
	Timestamp     string
	TimestampPath *path

	ItemsPath          *path
	ItemSelector       *template
	ItemProcessor      *states
	MaxConcurrency     int64
	MaxConcurrencyPath *path
	Branches           []*states

	Error     string
	ErrorPath *path
	Cause     string
	CausePath *path
}

type retrier struct {
	ErrorEquals     []string
	IntervalSeconds *int64
	MaxAttempts     *int64
	BackoffRate     *float64
	MaxDelaySeconds int64
	JitterStrategy  string
}

type catcher struct {
	ErrorEquals []string
	ResultPath  *path
	Next        string
}

// The resources of Task states that are supported.
const (
	resourceInvoke = "arn:aws:states:::lambda:invoke"
	resourceToken  = "arn:aws:states:::lambda:invoke.waitForTaskToken" //nolint:gosec // the name of a resource
	resourceStart  = "arn:aws:states:::states:startExecution.sync:2"
)

// fields lists what a state of each type may have; all others are refused.
func fields(kind string) []string {
	common := []string{"Type", "Comment", "InputPath", "OutputPath"}
	flow := append(common, "Next", "End")
	result := append(flow, "ResultPath", "Parameters")
	work := append(result, "ResultSelector", "Retry", "Catch")
	switch kind {
	case "Task":
		return append(work, "Resource", "TimeoutSeconds", "TimeoutSecondsPath", "HeartbeatSeconds", "HeartbeatSecondsPath")
	case "Map":
		return append(work, "ItemsPath", "ItemSelector", "ItemProcessor", "MaxConcurrency", "MaxConcurrencyPath")
	case "Parallel":
		return append(work, "Branches")
	case "Pass":
		return append(result, "Result")
	case "Wait":
		return append(flow, "Seconds", "SecondsPath", "Timestamp", "TimestampPath")
	case "Choice":
		return append(common, "Choices", "Default")
	case "Succeed":
		return common
	case "Fail":
		return []string{"Type", "Comment", "Error", "ErrorPath", "Cause", "CausePath"}
	}
	return nil
}

// Parse loads a definition. Placeholders such as ${EngineFunctionArn} are
// replaced first, as CloudFormation's DefinitionSubstitutions are. An error
// names the place in the definition that isn't supported or is wrong.
func Parse(name string, definition []byte, substitutions map[string]string) (*Machine, error) {
	text := string(definition)
	for k, v := range substitutions {
		text = strings.ReplaceAll(text, "${"+k+"}", v)
	}
	var top struct {
		Comment       string
		Version       string
		QueryLanguage string
		StartAt       string
		States        map[string]json.RawMessage
	}
	if err := strict([]byte(text), &top); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	if top.QueryLanguage != "" && top.QueryLanguage != "JSONPath" {
		return nil, fmt.Errorf("definition %s: QueryLanguage is %q; want JSONPath", name, top.QueryLanguage)
	}
	m := &Machine{Name: name, text: text, hash: hashOf(text)}
	var err error
	if m.states, err = parseStates(top.StartAt, top.States); err != nil {
		return nil, fmt.Errorf("definition %s: %w", name, err)
	}
	return m, nil
}

// strict decodes JSON and refuses unknown fields.
func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

func parseStates(startAt string, raw map[string]json.RawMessage) (*states, error) {
	s := &states{StartAt: startAt, States: map[string]*state{}}
	for name, doc := range raw {
		st, err := parseState(doc)
		if err != nil {
			return nil, fmt.Errorf("state %s: %w", name, err)
		}
		s.States[name] = st
	}
	return s, s.check()
}

func parseState(doc json.RawMessage) (*state, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(doc, &keys); err != nil {
		return nil, err
	}
	var kind string
	if err := json.Unmarshal(keys["Type"], &kind); err != nil {
		return nil, fmt.Errorf("the Type: %w", err)
	}
	allowed := fields(kind)
	if allowed == nil {
		return nil, fmt.Errorf("the type %q isn't supported", kind)
	}
	for key := range keys {
		if !slices.Contains(allowed, key) {
			return nil, fmt.Errorf("%s: a %s state has no such field here", key, kind)
		}
	}
	// null paths mean "nothing", which a pointer can't tell from absent.
	for _, key := range []string{"InputPath", "OutputPath", "ResultPath"} {
		if v, ok := keys[key]; ok && string(v) == "null" {
			keys[key] = json.RawMessage(`"null"`)
		}
	}
	var st state
	for key, v := range keys {
		one, err := json.Marshal(map[string]json.RawMessage{key: v})
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(one, &st); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return &st, nil
}

// UnmarshalJSON reads a branch or an item processor.
func (s *states) UnmarshalJSON(data []byte) error {
	var raw struct {
		Comment         string
		ProcessorConfig struct{ Mode string }
		StartAt         string
		States          map[string]json.RawMessage
	}
	if err := strict(data, &raw); err != nil {
		return err
	}
	if mode := raw.ProcessorConfig.Mode; mode != "" && mode != "INLINE" {
		return fmt.Errorf("the processor's Mode is %q; want INLINE", mode)
	}
	parsed, err := parseStates(raw.StartAt, raw.States)
	if err != nil {
		return err
	}
	*s = *parsed
	return nil
}

// check finds what is wrong between the states.
func (s *states) check() error {
	if s.States[s.StartAt] == nil {
		return fmt.Errorf("there is no state %q to start at", s.StartAt)
	}
	for name, st := range s.States {
		if err := st.check(s); err != nil {
			return fmt.Errorf("state %s: %w", name, err)
		}
	}
	return nil
}

func (st *state) check(s *states) error {
	targets := []string{}
	switch st.Type {
	case "Choice":
		for _, c := range st.Choices {
			targets = append(targets, c.Next)
		}
		if st.Default != "" {
			targets = append(targets, st.Default)
		}
		if len(st.Choices) == 0 {
			return errors.New("at least one of Choices is needed")
		}
	case "Succeed", "Fail":
	default:
		if st.End == (st.Next != "") {
			return errors.New("either Next or End is needed")
		}
		if st.Next != "" {
			targets = append(targets, st.Next)
		}
	}
	for _, c := range st.Catch {
		targets = append(targets, c.Next)
	}
	for _, t := range targets {
		if s.States[t] == nil {
			return fmt.Errorf("there is no state %q to go to", t)
		}
	}
	return st.checkWork()
}

func (st *state) checkWork() error {
	switch st.Type {
	case "Task":
		if !slices.Contains([]string{resourceInvoke, resourceToken, resourceStart}, st.Resource) {
			return fmt.Errorf("the Resource %q isn't supported", st.Resource)
		}
		if st.Parameters == nil {
			return errors.New("this resource needs Parameters")
		}
	case "Map":
		if st.ItemProcessor == nil {
			return errors.New("a Map needs an ItemProcessor")
		}
	case "Parallel":
		if len(st.Branches) == 0 {
			return errors.New("at least one of Branches is needed")
		}
	case "Wait":
		n := 0
		for _, set := range []bool{st.Seconds > 0, st.SecondsPath != nil, st.Timestamp != "", st.TimestampPath != nil} {
			if set {
				n++
			}
		}
		if n != 1 {
			return errors.New("exactly one of Seconds, SecondsPath, Timestamp and TimestampPath is needed")
		}
	}
	for _, r := range st.Retry {
		if r.JitterStrategy != "" && r.JitterStrategy != "FULL" && r.JitterStrategy != "NONE" {
			return fmt.Errorf("the JitterStrategy of a Retry is %q; want FULL or NONE", r.JitterStrategy)
		}
	}
	return nil
}
