package asl

import (
	"encoding/json"
	"fmt"
	"slices"
)

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
	TimeoutSeconds       *int64
	TimeoutSecondsPath   *path
	HeartbeatSeconds     *int64
	HeartbeatSecondsPath *path
	Retry                []retrier
	Catch                []catcher

	Choices []choice
	Default string

	Seconds       *int64
	SecondsPath   *path
	Timestamp     string
	TimestampPath *path

	ItemsPath          *path
	ItemSelector       *template
	ItemProcessor      *processor
	MaxConcurrency     *int64
	MaxConcurrencyPath *path
	Branches           []*states

	Error     string
	ErrorPath *text
	Cause     string
	CausePath *text
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

// nullable are the fields that null is a value of.
func nullable() []string { return []string{"InputPath", "OutputPath", "ResultPath", "Result"} }

func parseState(doc json.RawMessage) (*state, error) {
	var kind struct{ Type string }
	if err := json.Unmarshal(doc, &kind); err != nil {
		return nil, fmt.Errorf("the Type: %w", err)
	}
	allowed := fields(kind.Type)
	if allowed == nil {
		return nil, fmt.Errorf("the type %q isn't supported", kind.Type)
	}
	keys, err := object(doc, allowed, nullable())
	if err != nil {
		return nil, fmt.Errorf("a %s state: %w", kind.Type, err)
	}
	var st state
	for key, v := range keys {
		if err := st.set(key, v); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return &st, nil
}

// set reads one field.
func (st *state) set(key string, v json.RawMessage) error {
	if string(v) == "null" && key != "Result" { // which a pointer can't tell from absent
		nothing := &path{nothing: true}
		switch key {
		case "InputPath":
			st.InputPath = nothing
		case "OutputPath":
			st.OutputPath = nothing
		case "ResultPath":
			st.ResultPath = nothing
		}
		return nil
	}
	one := slices.Concat([]byte(`{"`+key+`":`), v, []byte(`}`))
	return json.Unmarshal(one, st)
}
