// Package policy is the vocabulary of governance: policies, which decide on
// contents by a text in Rego, sets of them, which say what is decided when, and
// the verdicts that they come to.
//
// Rego is evaluated by pkg/policy/rego alone, and what counts in a scope is
// read by pkg/policy/judge. Who may do something is pkg/access's to say.
package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Bounds on what is evaluated.
const (
	MaxRego      = 256 << 10 // bytes of a policy
	MaxPolicies  = 100       // of a set
	MaxEnforced  = 10        // sets that a step enforces
	MaxSaved     = 1 << 20   // bytes of an input on save, as JSON
	MaxRun       = 10 << 20  // of an input of a run
	Longest      = time.Second
	LongestOfSet = 5 * time.Second
)

// Severity says what it means that a policy fails.
type Severity string

// The severities.
const (
	Warning Severity = "warning"
	Error   Severity = "error"
)

// Policy is a text in Rego.
type Policy struct{ Rego string }

// Set is a set of policies that are asked at one moment.
type Set struct {
	Ref     ref.Ref
	Moment  Moment
	Enabled bool
	Members []Member
}

// Member is a policy of a set.
type Member struct {
	Policy   ref.Ref
	Severity Severity
}

// Moment is when a set is asked: about what, and at which action with it.
type Moment struct{ Type, Action string }

// String is e.g. "pipeline onsave".
func (m Moment) String() string { return m.Type + " " + m.Action }

// The actions that are evaluated.
const (
	OnSave      = "onsave"
	OnRun       = "onrun"
	OnStepStart = "onstepstart"
	OnStep      = "onstep"
)

// OfPipeline and Custom are the types of runs and of Policy steps.
const (
	OfPipeline = "pipeline"
	Custom     = "custom"
)

// kindOf is a type of set that is asked when documents of kinds are saved, and
// the key under which its policies find such a document.
type kindOf struct {
	typ   string
	kinds []ref.Kind
	key   string
}

func saved() []kindOf {
	return []kindOf{
		{OfPipeline, []ref.Kind{ref.Pipeline}, "pipeline"},
		{"template", []ref.Kind{ref.Template}, "template"},
		{"connector", []ref.Kind{ref.Connector}, "entity"},
		{"secret", []ref.Kind{ref.Secret}, "secret"},
		{"service", []ref.Kind{ref.Service}, "serviceEntity"},
		{"environment", []ref.Kind{ref.Environment}, "environmentEntity"},
		{"infrastructure", []ref.Kind{ref.Infrastructure}, "infrastructureEntity"},
		{"override", []ref.Kind{ref.Overrides, ref.ServiceOverrides}, "overrideEntity"},
		{"variable", []ref.Kind{ref.Variable}, "variable"},
		{"serviceaccount", []ref.Kind{ref.ServiceAccount}, "serviceAccount"},
		{"usergroup", []ref.Kind{ref.UserGroup}, "userGroup"},
	}
}

// Saved says which sets are asked when a document of a kind is saved, and under
// which key they find it; ok: there may be such.
func Saved(kind ref.Kind) (m Moment, key string, ok bool) {
	for _, k := range saved() {
		if slices.Contains(k.kinds, kind) {
			return Moment{k.typ, OnSave}, k.key, true
		}
	}
	return Moment{}, "", false
}

// Types are the types of sets that are evaluated.
func Types() []string {
	var out []string
	for _, k := range saved() {
		out = append(out, k.typ)
	}
	return append(out, Custom)
}

// OtherTypes are those that Harness has, and that nothing here asks.
func OtherTypes() []string {
	return []string{"apikey", "token", "gitopsapplication", "terraformPlan", "terraformState", "featureflag"}
}

// Actions are the actions at which sets of a type are evaluated.
func Actions(typ string) []string {
	switch typ {
	case OfPipeline:
		return []string{OnSave, OnRun, OnStepStart}
	case Custom:
		return []string{OnStep}
	}
	return []string{OnSave}
}

// Engine evaluates Rego: in the process itself (pkg/policy/rego), or in a function
// on AWS that does nothing else (pkg/policy/remote).
type Engine interface {
	// Check says what is wrong with a text.
	Check(text string) []Problem
	// Ask asks texts about an input, which is what encoding/json decodes, and gives
	// as many answers. Each has Longest, and all of them LongestOfSet. An error is of
	// an engine that can't be asked now.
	Ask(ctx context.Context, texts []string, input any, now time.Time) ([]Answer, error)
}

// ErrLongest and ErrLongestOfSet are the answers of texts that had no more time.
var (
	ErrLongest      = fmt.Errorf("it took longer than %s", Longest)
	ErrLongestOfSet = fmt.Errorf("the policies of its set took longer than %s", LongestOfSet)
)

// Problem is something wrong with a text in Rego, at its own line and column.
type Problem struct {
	Line, Column int
	Message      string
	Warning      bool // it can be evaluated all the same
}

// Answer is what a policy says of an input.
type Answer struct {
	Deny, Warn []string
	// Err is why it couldn't say anything, which counts as a deny.
	Err error
}

// Status is what policies, or a set of them, come to.
type Status string

// The statuses, by weight.
const (
	Pass    Status = "pass"
	Warned  Status = "warning"
	Refused Status = "error"
)

// Finding is a policy that didn't pass.
type Finding struct {
	Set      string   `json:"set" doc:"The policy set, as a reference"`
	Policy   string   `json:"policy" doc:"The policy, as a reference"`
	Severity Severity `json:"severity" enum:"warning,error"`
	Message  string   `json:"message"`
}

// String is the finding for people.
func (f Finding) String() string {
	return fmt.Sprintf("%s (policy %s of set %s)", f.Message, f.Policy, f.Set)
}

// Verdict is what sets came to.
type Verdict []SetResult

// SetResult is what a set came to.
type SetResult struct {
	Name     string // as a reference
	Policies []Result
}

// Result is what a policy of a set came to.
type Result struct {
	Name     string // as a reference
	Severity Severity
	Answer
}

// Status is the policy's own.
func (r Result) Status() Status {
	switch {
	case len(r.Deny) > 0 || r.Err != nil:
		return Status(r.Severity)
	case len(r.Warn) > 0:
		return Warned
	}
	return Pass
}

// Messages are why a policy didn't pass.
func (r Result) Messages() []string {
	out := slices.Concat(r.Deny, r.Warn)
	if r.Err != nil {
		out = append(out, "it couldn't be evaluated: "+r.Err.Error())
	}
	return out
}

// Status is that of the worst policy.
func (s SetResult) Status() Status {
	worst := Pass
	for _, r := range s.Policies {
		switch r.Status() {
		case Refused:
			return Refused
		case Warned:
			worst = Warned
		case Pass:
		}
	}
	return worst
}

// Status is that of the worst set.
func (v Verdict) Status() Status {
	worst := Pass
	for _, s := range v {
		switch s.Status() {
		case Refused:
			return Refused
		case Warned:
			worst = Warned
		case Pass:
		}
	}
	return worst
}

// Told is what the policies said that didn't pass, in a line.
func (v Verdict) Told() string {
	var said []string
	for _, f := range v.Findings() {
		said = append(said, f.String())
	}
	text := strings.Join(said, "; ")
	if runes := []rune(text); len(runes) > maxTold {
		text = string(runes[:maxTold]) + "..."
	}
	return text
}

// maxTold is how long a line is that tells of a verdict: the states of a step's
// attempts have one each.
const maxTold = 4000

// Findings are the policies that didn't pass, each with its messages.
func (v Verdict) Findings() []Finding {
	var out []Finding
	for _, s := range v {
		for _, r := range s.Policies {
			severity := r.Severity
			if r.Status() == Warned {
				severity = Warning
			}
			for _, m := range r.Messages() {
				out = append(out, Finding{Set: s.Name, Policy: r.Name, Severity: severity, Message: m})
			}
		}
	}
	return out
}

// Warnings are the findings that stop nothing.
func (v Verdict) Warnings() []Finding {
	return slices.DeleteFunc(v.Findings(), func(f Finding) bool { return f.Severity == Error })
}

// Denied is the error of what policies don't let happen, with a detail for each
// message; nil: they do. What is e.g. "saving pipeline web".
func (v Verdict) Denied(what string) error { return v.denied(what, "") }

func (v Verdict) denied(what, note string) error {
	denied := slices.DeleteFunc(v.Findings(), func(f Finding) bool { return f.Severity != Error })
	if len(denied) == 0 {
		return nil
	}
	var details []fault.Detail
	var names []string
	for _, f := range denied {
		details = append(details, fault.Detail{Severity: string(Error), Code: string(fault.PolicyDenied), Message: f.String()})
		if !slices.Contains(names, f.Policy) {
			names = append(names, f.Policy)
		}
	}
	noun := "policy"
	if len(names) > 1 {
		noun = "policies"
	}
	return fault.New(fault.PolicyDenied, "%s is denied by the %s %s%s", what, noun, strings.Join(names, ", "), note).With(details...)
}
