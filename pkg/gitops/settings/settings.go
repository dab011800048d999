// Package settings is what a GitOps agent goes by beside documents of single
// applications: what Argo CD's ConfigMaps argocd-cm and argocd-cmd-params-cm say
// (semantics/gitops §1).
//
// It has values and patterns alone: pkg/gitops/argo reads them, and delegate/gitops/script
// runs what of them is Lua.
package settings

import (
	"path"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops"
)

// Settings are those of one agent. The zero value is what goes without any.
type Settings struct {
	Kinds   []Kind
	Ignored []gitops.IgnoreRule
	// Status says whose status counts for nothing in a comparison: that of all, of
	// definitions alone (crd), or of none. Empty: all.
	Status string
	// AggregatedRoles leaves out the rules of ClusterRoles that others fill in.
	AggregatedRoles bool
	JQTimeout       time.Duration // of an expression of ignored differences; 0: the usual one
	// NoGenericHealth has objects not fare of whose kind nothing is known.
	NoGenericHealth bool

	Exclusions, Inclusions []Filter

	// Poll and PollJitter are how far apart the looks at sources are; nil: as usual. A
	// Poll of 0 has nobody look who isn't asked.
	Poll, PollJitter *time.Duration
	// NoHome keeps applications out of the agent's own cluster.
	NoHome bool
	// Accounts has objects applied as the service accounts that projects name, and with
	// OwnWithout as the agent where a project names none.
	Accounts, OwnWithout bool
}

// Kind is what is said of kinds by patterns of their group and their name.
type Kind struct {
	Group, Kind string
	Health      string // Lua; empty: as it is without
	Actions     *Actions
}

// Actions are what can be done to objects of a kind, in Lua.
type Actions struct {
	Discovery   string // says which there are for an object
	Definitions []Action
	// Builtin has the ones that there are anyway beside them.
	Builtin bool
}

// Action is one.
type Action struct{ Name, Lua string }

// Filter chooses objects by patterns. An empty list chooses all.
type Filter struct {
	APIGroups []string
	Kinds     []string // names, or *
	Clusters  []string // by server
}

// Excluded says whether objects of a kind are none of the agent's matter in a cluster.
func (s *Settings) Excluded(group, kind, server string) bool {
	chosen := func(f Filter) bool {
		return anyOf(f.APIGroups, group) && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, "*") || slices.Contains(f.Kinds, kind)) && anyOf(f.Clusters, server)
	}
	return slices.ContainsFunc(s.Exclusions, chosen) || len(s.Inclusions) > 0 && !slices.ContainsFunc(s.Inclusions, chosen)
}

// anyOf says whether one of some patterns, of which * goes over everything, fits.
func anyOf(patterns []string, text string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return Fits(p, text) })
}

// Fits says whether a pattern fits a text, in which slashes are letters like others.
func Fits(pattern, text string) bool {
	if pattern == "*" || pattern == text {
		return true
	}
	ok, err := path.Match(letters(pattern), letters(text))
	return ok && err == nil
}

func letters(text string) string {
	out := []byte(text)
	for i, c := range out {
		if c == '/' {
			out[i] = 0
		}
	}
	return string(out)
}

// Of gives what is said of a kind in some respect: by its own name before patterns.
func (s *Settings) Of(group, kind string, has func(*Kind) bool) *Kind {
	for i := range s.Kinds {
		if k := &s.Kinds[i]; k.Group == group && k.Kind == kind && has(k) {
			return k
		}
	}
	for i := range s.Kinds {
		if k := &s.Kinds[i]; Fits(k.Group, group) && Fits(k.Kind, kind) && has(k) {
			return k
		}
	}
	return nil
}
