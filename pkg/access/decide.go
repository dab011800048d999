package access

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Resource is what an action is done to.
type Resource struct {
	Type  action.Type // empty: what the action's entry says
	Scope ref.Scope
	ID    string // empty: none in particular, as in lists
	// Attribute gives the values of an attribute, such as a connector's category.
	// It is asked only where a right has a condition; nil: there are none.
	Attribute func(name string) []string
}

// Selector is a part of the resources of a right: those of a type, of which it
// may want some by their identifiers, or those whose attribute has one of some
// values.
type Selector struct {
	Type      action.Type
	IDs       []string
	Attribute string
	Values    []string
}

func (s Selector) has(t action.Type, on Resource) bool {
	switch {
	case s.Type != t:
		return false
	case s.Attribute != "":
		if on.Attribute == nil {
			return false
		}
		for _, have := range on.Attribute(s.Attribute) {
			key, _, _ := strings.Cut(have, ":")
			if slices.Contains(s.Values, have) || s.Attribute == "tag" && slices.Contains(s.Values, key) {
				return true
			}
		}
		return false
	}
	return len(s.IDs) == 0 || slices.Contains(s.IDs, on.ID)
}

// Owner is the identifier that resource groups name for a document: its own, or
// that of what it belongs to. A template's has no version.
func Owner(key store.EntityKey) string {
	if parent := ref.Parent(key.Kind); parent == ref.Environment || parent == ref.Pipeline {
		return key.Env
	}
	id, _, _ := strings.Cut(key.ID, "@")
	return id
}

// Extent is a scope, with those in it or alone.
type Extent struct {
	Scope    ref.Scope
	Children bool
}

func (e Extent) has(scope ref.Scope) bool {
	return e.Scope == scope || e.Children && e.Scope.Covers(scope)
}

// Right is what somebody may do where. Rights add up; none takes away.
type Right struct {
	By          string // what gives it, for people
	Permissions action.Set
	Within      []Extent
	Only        []Selector // any of them; none: whatever there is
}

// Legacy is the right of a token that belongs to no user or service account of
// ours: everything in its scope.
func Legacy(t store.AccessToken) Right {
	return Right{By: "token " + t.Name, Permissions: action.Every(), Within: []Extent{{Scope: t.Scope, Children: true}}}
}

// Decision is whether something may be done, and why.
type Decision struct {
	Allowed bool
	By      string              // what gives the right; empty: no right is needed, or there is none
	Missing []action.Permission // any of which would have been enough
}

// Decide says whether rights allow an action on a resource. It reads nothing
// but what it is given: the same rights give the same decision.
func Decide(rights []Right, do action.Entry, on Resource) Decision {
	t := on.Type
	if t == "" {
		t = do.Type
	}
	wanted := do.Takes(t)
	if len(wanted) == 0 && (do.Verb == "" || t == "") {
		return Decision{Allowed: true} // the handler asks, once it knows what for
	}
	for _, r := range rights {
		for _, p := range wanted {
			if r.allows(p, t, on) {
				return Decision{Allowed: true, By: r.By}
			}
		}
	}
	return Decision{Missing: wanted}
}

func (r Right) allows(p action.Permission, t action.Type, on Resource) bool {
	return r.Permissions.Has(p) &&
		slices.ContainsFunc(r.Within, func(e Extent) bool { return e.has(on.Scope) }) &&
		(len(r.Only) == 0 || slices.ContainsFunc(r.Only, func(s Selector) bool { return s.has(t, on) }))
}

// Refusal is the error of a decision that doesn't allow: it names who was
// refused and what is missing.
func (d Decision) Refusal(actor string, on Resource) error {
	if d.Allowed {
		return nil
	}
	names := make([]string, len(d.Missing))
	for i, p := range d.Missing {
		names[i] = p.Name
	}
	return fault.New(fault.Forbidden, "%s may not do this in %s: %s is missing", actor, on.Scope, strings.Join(names, " or "))
}
