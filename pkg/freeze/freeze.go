// Package freeze says when a deployment freeze is active and whom it concerns:
// pure arithmetic over windows in time zones, and rules over what a stage
// deploys.
//
// It reads no clock and no store, and knows no YAML: pkg/entity decodes the
// document, and whoever starts something asks here.
package freeze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// GlobalID is the identifier of a scope's global freeze, which stops all in it.
const GlobalID = "_GLOBAL_"

// Freeze is a time in which nothing that it concerns may be deployed.
type Freeze struct {
	ID      string
	Name    string
	Scope   ref.Scope
	Enabled bool
	Rules   []Rule // it concerns what one of them matches
	Windows []Window
}

// Rule matches what all of its filters do.
type Rule struct {
	Name    string
	Filters []Filter
}

// Type is what a filter looks at.
type Type string

// The types.
const (
	Org         Type = "Org"
	Project     Type = "Project"
	Service     Type = "Service"
	Environment Type = "Environment"
	EnvType     Type = "EnvType"
	Pipeline    Type = "Pipeline"
)

// Types are those that a freeze of a scope may filter by: what the scope
// itself settles isn't among them.
func Types(scope ref.Scope) []Type {
	switch {
	case scope.Project != "":
		return []Type{Service, Environment, EnvType, Pipeline}
	case scope.Org != "":
		return []Type{Project, Service, Environment, EnvType}
	}
	return []Type{Org, Project, Service, Environment, EnvType}
}

// Choice is how a filter chooses.
type Choice string

// The choices.
const (
	All       Choice = "All"
	Equals    Choice = "Equals"
	NotEquals Choice = "NotEquals"
)

// Filter is one condition of a rule. What a rule doesn't filter by may be
// anything.
type Filter struct {
	Type   Type
	Choice Choice
	// Names are those that Equals and NotEquals compare with: identifiers,
	// references of the freeze's scope, or Production and PreProduction.
	Names []string
}

// Target is one service that a stage deploys to one environment.
type Target struct {
	Pipeline    ref.Ref
	Service     ref.Ref
	Environment ref.Ref
	EnvType     string // Production or PreProduction
}

// NewTarget is what a stage of a pipeline deploys where, by references from the
// pipeline's scope.
func NewTarget(pipeline ref.Ref, service, environment string) (t Target, err error) {
	t.Pipeline = pipeline
	if t.Service, err = ref.Parse(service, pipeline.Scope); err != nil {
		return t, fault.Wrap(err, "the service that it deploys")
	}
	if t.Environment, err = ref.Parse(environment, pipeline.Scope); err != nil {
		return t, fault.Wrap(err, "the environment that it deploys to")
	}
	return t, nil
}

// Match is a freeze that is active for a target.
type Match struct {
	ID    string
	Name  string
	Scope ref.Scope
	Rule  string
	Until time.Time
}

// String says what stops something until when, for people.
func (m Match) String() string {
	what := "deployment freeze " + m.ID
	if m.ID == GlobalID {
		what = "the global deployment freeze"
	}
	return fmt.Sprintf("%s of %s until %s", what, m.Scope, m.Until.UTC().Format(time.RFC3339))
}

// Open are the freezes that are active at a time for somebody.
func Open(freezes []Freeze, now time.Time) []Freeze {
	var out []Freeze
	for _, f := range freezes {
		if _, open := f.until(now); f.Enabled && open {
			out = append(out, f)
		}
	}
	return out
}

// Stops gives the freezes that are active at a time and whose rules name a
// pipeline, whatever it deploys.
func Stops(freezes []Freeze, now time.Time, pipeline ref.Ref) []Match {
	var named []Freeze
	for _, f := range freezes {
		rules := slices.Clone(f.Rules)
		f.Rules = slices.DeleteFunc(rules, func(r Rule) bool { return !r.names() })
		named = append(named, f)
	}
	return Active(named, now, Target{Pipeline: pipeline})
}

// names says whether a rule is about pipelines that it names and nothing else.
func (r Rule) names() bool {
	named := false
	for _, by := range r.Filters {
		switch {
		case by.Type == Pipeline && by.Choice == Equals:
			named = true
		case by.Type != Pipeline && by.Choice != All:
			return false
		}
	}
	return named
}

// Active gives the freezes that are active at a time for a target, the global
// ones first and then those that end last.
func Active(freezes []Freeze, now time.Time, t Target) []Match {
	var out []Match
	for _, f := range freezes {
		rule, concerns := f.concerns(t)
		if !f.Enabled || !concerns {
			continue
		}
		if until, ok := f.until(now); ok {
			out = append(out, Match{ID: f.ID, Name: f.Name, Scope: f.Scope, Rule: rule, Until: until})
		}
	}
	slices.SortStableFunc(out, func(a, b Match) int {
		return cmp.Or(rank(a.ID)-rank(b.ID), b.Until.Compare(a.Until))
	})
	return out
}

func rank(id string) int {
	if id == GlobalID {
		return 0
	}
	return 1
}

// Next is the first of a freeze's times that ends after another, be the freeze
// enabled or not.
func (f Freeze) Next(now time.Time) (first Occurrence, ok bool) {
	for _, w := range f.Windows {
		if o, some := w.Next(now); some && (!ok || o.Start.Before(first.Start)) {
			first, ok = o, true
		}
	}
	return first, ok
}

// Between are the freeze's times that end after from and start before to, in
// their order; at most limit of them.
func (f Freeze) Between(from, to time.Time, limit int) []Occurrence {
	var out []Occurrence
	for _, w := range f.Windows {
		for n, after := 0, from; n < limit; n++ {
			o, ok := w.Next(after)
			if !ok || !o.Start.Before(to) {
				break
			}
			out, after = append(out, o), o.End
		}
	}
	slices.SortFunc(out, func(a, b Occurrence) int { return a.Start.Compare(b.Start) })
	return out[:min(len(out), limit)]
}

// until is the last end of the windows that are open at a time.
func (f Freeze) until(now time.Time) (until time.Time, open bool) {
	for _, w := range f.Windows {
		if o, ok := w.Next(now); ok && !o.Start.After(now) {
			open = true
			if o.End.After(until) {
				until = o.End
			}
		}
	}
	return until, open
}

// concerns finds the first rule that matches.
func (f Freeze) concerns(t Target) (rule string, ok bool) {
	if !f.Scope.Covers(t.Pipeline.Scope) {
		return "", false
	}
	for _, r := range f.Rules {
		if !slices.ContainsFunc(r.Filters, func(by Filter) bool { return !f.passes(by, t) }) {
			return r.Name, true
		}
	}
	return "", false
}

func (f Freeze) passes(by Filter, t Target) bool {
	if by.Choice == All {
		return true
	}
	named := slices.ContainsFunc(by.Names, func(name string) bool {
		switch by.Type {
		case Org:
			return name == t.Pipeline.Scope.Org
		case Project:
			return name == t.Pipeline.Scope.Project
		case EnvType:
			return name == t.EnvType
		case Service:
			return f.same(name, t.Service)
		case Environment:
			return f.same(name, t.Environment)
		case Pipeline:
			return f.same(name, t.Pipeline)
		}
		return false
	})
	return named == (by.Choice == Equals)
}

func (f Freeze) same(name string, as ref.Ref) bool {
	r, err := ref.Parse(name, f.Scope)
	return err == nil && r == as
}
