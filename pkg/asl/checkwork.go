package asl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

func (st *state) checkTask() error {
	var needed string
	var known []string
	switch st.Resource {
	case resourceInvoke, resourceToken:
		needed, known = "FunctionName", []string{"FunctionName", "Payload"}
	case resourceStart:
		needed, known = "StateMachineArn", []string{"StateMachineArn", "Name", "Input"}
	default:
		return fmt.Errorf("the Resource %q isn't supported", st.Resource)
	}
	if st.Parameters == nil {
		return errors.New("this resource needs Parameters")
	}
	given, ok := st.Parameters.root.(map[string]any)
	if !ok {
		return errors.New("Parameters: this resource needs an object") //nolint:staticcheck // the name of a field
	}
	if given[needed] == nil {
		return fmt.Errorf("at Parameters: this resource needs %s", needed)
	}
	for name := range given {
		if !slices.Contains(known, name) {
			return fmt.Errorf("at Parameters: %s isn't supported; want %s", name, strings.Join(known, ", "))
		}
	}
	err := errors.Join(
		exclusive("TimeoutSeconds", st.TimeoutSeconds != nil, "TimeoutSecondsPath", st.TimeoutSecondsPath != nil),
		exclusive("HeartbeatSeconds", st.HeartbeatSeconds != nil, "HeartbeatSecondsPath", st.HeartbeatSecondsPath != nil),
		within("TimeoutSeconds", st.TimeoutSeconds, 1, maxSeconds), within("HeartbeatSeconds", st.HeartbeatSeconds, 1, maxSeconds),
	)
	if err == nil && st.HeartbeatSeconds != nil && st.TimeoutSeconds != nil && *st.HeartbeatSeconds >= *st.TimeoutSeconds {
		return errors.New("HeartbeatSeconds must be smaller than TimeoutSeconds")
	}
	return err
}

func (st *state) checkMap() error {
	if st.ItemProcessor == nil {
		return errors.New("a Map needs an ItemProcessor")
	}
	return errors.Join(
		exclusive("ItemSelector", st.ItemSelector != nil, "Parameters", st.Parameters != nil),
		exclusive("MaxConcurrency", st.MaxConcurrency != nil, "MaxConcurrencyPath", st.MaxConcurrencyPath != nil),
		within("MaxConcurrency", st.MaxConcurrency, 0, maxSeconds),
	)
}

func (st *state) checkWait() error {
	n := 0
	for _, set := range []bool{st.Seconds != nil, st.SecondsPath != nil, st.Timestamp != "", st.TimestampPath != nil} {
		if set {
			n++
		}
	}
	if n != 1 {
		return errors.New("exactly one of Seconds, SecondsPath, Timestamp and TimestampPath is needed")
	}
	if _, ok := timestamp(st.Timestamp); st.Timestamp != "" && !ok {
		return fmt.Errorf("at Timestamp: %q isn't a time such as 2016-03-14T01:59:00Z", st.Timestamp)
	}
	return within("Seconds", st.Seconds, 0, maxSeconds)
}

func checkRetry(list []retrier) error {
	for i, r := range list {
		err := errors.Join(
			checkErrors(r.ErrorEquals, i == len(list)-1), within("IntervalSeconds", r.IntervalSeconds, 1, maxSeconds),
			within("MaxAttempts", r.MaxAttempts, 0, maxSeconds), within("MaxDelaySeconds", r.MaxDelaySeconds, 1, maxDelay),
		)
		switch {
		case err != nil:
		case r.BackoffRate != nil && *r.BackoffRate < 1:
			err = fmt.Errorf("BackoffRate is %v; want 1.0 or more", *r.BackoffRate)
		case !slices.Contains([]string{"", "FULL", "NONE"}, r.JitterStrategy):
			err = fmt.Errorf("the JitterStrategy is %q; want FULL or NONE", r.JitterStrategy)
		}
		if err != nil {
			return fmt.Errorf("at Retry[%d]: %w", i, err)
		}
	}
	return nil
}

func checkCatch(list []catcher) error {
	for i, c := range list {
		err := checkErrors(c.ErrorEquals, i == len(list)-1)
		switch {
		case err != nil:
		case c.Next == "":
			err = errors.New("it needs Next")
		case c.ResultPath != nil && c.ResultPath.context:
			err = errors.New("ResultPath: the context object can't be written")
		}
		if err != nil {
			return fmt.Errorf("at Catch[%d]: %w", i, err)
		}
	}
	return nil
}

// checkErrors looks at an ErrorEquals. States.ALL stands alone in it, and in
// the last of its list.
func checkErrors(names []string, lastOne bool) error {
	switch {
	case len(names) == 0:
		return errors.New("it needs ErrorEquals with at least one name")
	case slices.Contains(names, errALL) && len(names) > 1:
		return errors.New("ErrorEquals: States.ALL must stand alone")
	case names[0] == errALL && !lastOne:
		return errors.New("ErrorEquals: States.ALL must be in the last one")
	case slices.Contains(names, ""):
		return errors.New("ErrorEquals: a name is empty")
	}
	return nil
}
