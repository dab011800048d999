package criteria

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
)

// defaultEvery is the time between two looks of a step that says none
// (semantics/pipeline §7.9).
const defaultEvery = time.Minute

// Look is what one look has found.
type Look struct {
	Subject string                // for people, e.g. "issue DEMO-1"
	Names   map[string]expr.Value // what expressions know besides the pipeline's names
	Fields  expr.Value            // what conditions compare, by key
	Outputs json.RawMessage       // the step's
}

// Interval is the time between two looks.
func (a Approval) Interval() time.Duration {
	if a.Every.Value <= 0 {
		return defaultEvery
	}
	return a.Every.Value
}

// Judge says what a look means: approval before rejection, and neither means
// to look again. Criteria that can't be evaluated don't hold
// (semantics/pipeline §7.9).
func (a Approval) Judge(at step.In, found Look) plan.Outcome {
	o := plan.Outcome{Outputs: found.Outputs}
	var notes []string
	holds := func(key string, c Criteria) bool {
		if c.empty() {
			return false
		}
		ok, err := c.holds(at, found.Names, found.Fields)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s can't be evaluated: %s", key, err))
		}
		return ok && err == nil
	}
	switch {
	case holds("approvalCriteria", a.Approve):
		o.Status = plan.Success
	case holds("rejectionCriteria", a.Reject):
		o.Status, o.Failures = plan.ApprovalRejected, []fault.FailureType{fault.ApprovalRejection}
		o.Message = found.Subject + " is rejected by its rejectionCriteria"
	default:
		o.Again = a.Interval()
		o.Message = strings.Join(append([]string{found.Subject + " is neither approved nor rejected"}, notes...), "; ")
	}
	return o
}

// holds compares one condition.
func (x Condition) holds(at step.In, names map[string]expr.Value, fields expr.Value) (bool, error) {
	key := step.Text(x.Key)
	got, ok := fields.Field(key)
	if strings.Contains(key, "<+") {
		var err error
		if got, err = at.Interpolate(key, names); err != nil {
			return false, err
		}
	} else if !ok {
		return false, fault.New(fault.Invalid, "there is no field %q", key)
	}
	v, err := at.Interpolate(step.Text(x.Value), names)
	if err != nil {
		return false, err
	}
	value := strings.TrimSpace(v.Text())
	switch step.Text(x.Operator) {
	case equals:
		return is(got, value), nil
	case notEquals:
		return !is(got, value), nil
	case in:
		return among(got, value), nil
	case notIn:
		return !among(got, value), nil
	}
	return false, fault.New(fault.Invalid, "operator is %q; want equals, not equals, in or not in", step.Text(x.Operator))
}

// is says whether a field has a value. A field with several values has it if
// all of them, joined by commas, are it.
func is(got expr.Value, want string) bool {
	if got.Kind() == expr.KindList {
		var parts []string
		for _, item := range got.Items() {
			parts = append(parts, item.Text())
		}
		return strings.Join(parts, ",") == want
	}
	return strings.TrimSpace(got.Text()) == want
}

// among says whether one of a field's values is in a list with commas.
func among(got expr.Value, list string) bool {
	values := []expr.Value{got}
	if got.Kind() == expr.KindList {
		values = got.Items()
	}
	for _, v := range values {
		for want := range strings.SplitSeq(list, ",") {
			if is(v, strings.TrimSpace(want)) {
				return true
			}
		}
	}
	return false
}
