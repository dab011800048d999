package appset

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Selector takes what has labels. Unlike Kubernetes's, its values may be any text,
// since addresses of clusters are compared with them.
type Selector struct {
	MatchLabels      map[string]string `json:"matchLabels,omitempty"`
	MatchExpressions []Requirement     `json:"matchExpressions,omitempty"`
}

// Requirement is what a label has to be.
type Requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"` // In, NotIn, Exists or DoesNotExist
	Values   []string `json:"values,omitempty"`
}

// Empty says whether a selector takes everything.
func (s *Selector) Empty() bool {
	return s == nil || len(s.MatchLabels) == 0 && len(s.MatchExpressions) == 0
}

// Check finds what is wrong with a selector.
func (s *Selector) Check() error {
	if s == nil {
		return nil
	}
	for _, r := range s.MatchExpressions {
		switch listed := len(r.Values) > 0; r.Operator {
		case "In", "NotIn":
			if !listed {
				return fault.New(fault.Invalid, "the selector's expression of %q has no values; want at least one for the operator %s", r.Key, r.Operator)
			}
		case "Exists", "DoesNotExist":
			if listed {
				return fault.New(fault.Invalid, "the selector's expression of %q has values; want none for the operator %s", r.Key, r.Operator)
			}
		default:
			return fault.New(fault.Invalid, "the selector's expression of %q has the operator %q; want In, NotIn, Exists or DoesNotExist", r.Key, r.Operator)
		}
	}
	return nil
}

// Matches says whether labels are what a selector wants.
func (s *Selector) Matches(labels map[string]string) bool {
	if s == nil {
		return true
	}
	for k, want := range s.MatchLabels {
		if got, ok := labels[k]; !ok || got != want {
			return false
		}
	}
	return !slices.ContainsFunc(s.MatchExpressions, func(r Requirement) bool { return !r.matches(labels) })
}

func (r Requirement) matches(labels map[string]string) bool {
	got, ok := labels[r.Key]
	switch r.Operator {
	case "In":
		return ok && slices.Contains(r.Values, got)
	case "NotIn":
		return !ok || !slices.Contains(r.Values, got)
	case "Exists":
		return ok
	}
	return !ok
}
