package task

import (
	"encoding/json"
	"time"
)

// Approval is how a delegate decides from what it reads again and again
// (pipeline spec §7.9): approved if Approve holds, else rejected if Reject
// does, else it looks again after Every.
type Approval struct {
	Approve Criteria      `json:"approve"`
	Reject  *Criteria     `json:"reject,omitempty"`
	Every   time.Duration `json:"every"` // nanoseconds
}

// Criteria is an expression, or conditions on values by their names.
type Criteria struct {
	Expression string `json:"expression,omitempty"`
	// Known are the values of the names in Expression that only the control
	// plane can resolve.
	Known      map[string]json.RawMessage `json:"known,omitempty"`
	Any        bool                       `json:"any,omitempty"` // one condition is enough
	Conditions []Condition                `json:"conditions,omitempty"`
}

// Condition compares the value under a key, e.g. an issue's field.
type Condition struct {
	Key      string `json:"key"`
	Operator string `json:"operator"` // equals, not equals, in, not in
	Value    string `json:"value"`
}

// The operators of a Condition.
const (
	OpEquals    = "equals"
	OpNotEquals = "not equals"
	OpIn        = "in"
	OpNotIn     = "not in"
)

// NamedValue is a field of an issue or ticket, or a parameter of a build.
type NamedValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
