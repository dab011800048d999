package task

import "time"

// Jenkins runs a job and follows its build (semantics/pipeline §7.12).
type Jenkins struct {
	Server     Server        `json:"server"`
	Job        string        `json:"job"` // with its folders, e.g. "team/deploy"
	Parameters []NamedValue  `json:"parameters,omitempty"`
	Every      time.Duration `json:"every"`              // nanoseconds between two looks at the build
	Unstable   bool          `json:"unstable,omitempty"` // an unstable build is a success
}

// Bamboo runs a plan and follows its build (semantics/pipeline §7.12).
type Bamboo struct {
	Server     Server        `json:"server"`
	Plan       string        `json:"plan"` // its key, e.g. "WEB-DEPLOY"
	Parameters []NamedValue  `json:"parameters,omitempty"`
	Every      time.Duration `json:"every"` // nanoseconds between two looks at the build
}
