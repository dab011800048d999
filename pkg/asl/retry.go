package asl

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// maxDelay is the bound of MaxDelaySeconds: just under a year.
const maxDelay = 31622399

type retrier struct {
	ErrorEquals     []string
	IntervalSeconds *int64
	MaxAttempts     *int64
	BackoffRate     *float64
	MaxDelaySeconds *int64
	JitterStrategy  string
}

// UnmarshalJSON reads a retrier.
func (r *retrier) UnmarshalJSON(data []byte) error {
	var comment string
	into := map[string]any{
		"Comment": &comment, "ErrorEquals": &r.ErrorEquals, "IntervalSeconds": &r.IntervalSeconds, "MaxAttempts": &r.MaxAttempts,
		"BackoffRate": &r.BackoffRate, "MaxDelaySeconds": &r.MaxDelaySeconds, "JitterStrategy": &r.JitterStrategy,
	}
	keys, err := object(data, []string{"Comment", "ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy"}, nil)
	if err != nil {
		return err
	}
	return fillFields(keys, into)
}

type catcher struct {
	ErrorEquals []string
	ResultPath  *path
	Next        string
}

// UnmarshalJSON reads a catcher.
func (c *catcher) UnmarshalJSON(data []byte) error {
	keys, err := object(data, []string{"Comment", "ErrorEquals", "ResultPath", "Next"}, []string{"ResultPath"})
	if err != nil {
		return err
	}
	if v, ok := keys["ResultPath"]; ok && string(v) == "null" {
		c.ResultPath = &path{nothing: true}
		delete(keys, "ResultPath")
	}
	var comment string
	return fillFields(keys, map[string]any{"Comment": &comment, "ErrorEquals": &c.ErrorEquals, "ResultPath": &c.ResultPath, "Next": &c.Next})
}

// retry finds the retrier for a failure and the delay before the next try.
func (t *thread) retry(st *state, f *Failure) (time.Duration, bool) {
	for i, r := range st.Retry {
		if !equals(r.ErrorEquals, f) {
			continue
		}
		for len(t.retries) < len(st.Retry) {
			t.retries = append(t.retries, 0)
		}
		if int64(t.retries[i]) >= or(r.MaxAttempts, 3) {
			return 0, false
		}
		seconds := float64(or(r.IntervalSeconds, 1)) * math.Pow(or(r.BackoffRate, 2), float64(t.retries[i]))
		seconds = min(seconds, float64(or(r.MaxDelaySeconds, maxSeconds)))
		if r.JitterStrategy == "FULL" {
			seconds *= rand.Float64() //nolint:gosec // jitter needs no secrecy
		}
		t.retries = slices.Clone(t.retries)
		t.retries[i]++
		return time.Duration(seconds * float64(time.Second)), true
	}
	return 0, false
}

func or[T any](p *T, other T) T {
	if p == nil {
		return other
	}
	return *p
}

// equals says whether a failure is among those that a retrier or catcher
// names. States.Runtime is among none: it ends the run whatever they name.
func equals(names []string, f *Failure) bool {
	if f.Name == errRuntime {
		return false
	}
	for _, n := range names {
		switch {
		case n == f.Name && n != "", n == errALL:
			return true
		case n == errTaskFailed && f.Name != errTimeout:
			return true
		case n == errHeartbeat && f.beats:
			return true
		}
	}
	return false
}
