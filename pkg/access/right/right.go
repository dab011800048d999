// Package right decides what somebody who has rights may do to what: by one pure
// function, before every handler.
//
// Where rights come from is pkg/access/rbac's and pkg/access/grants' to say.
package right

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Resource is what an action is done to.
type Resource struct {
	Type  action.Type // empty: what the action's entry says
	Scope ref.Scope
	ID    string // empty: none in particular
	// Some: of a list, whose items are asked about one by one. A right to see any
	// of them is enough to ask for it.
	Some bool
	// Attribute gives the values of an attribute, such as a connector's category.
	// It is asked only where a right has a condition; nil: there are none.
	Attribute func(name string) []string
}

// Of is a resource as an action is done to it: of the type that the action's
// entry says, unless it has one.
func (on Resource) Of(do action.Entry) Resource {
	on.Type = cmp.Or(on.Type, do.Type)
	return on
}

// listedIn says whether a resource is the record of a scope that is right below
// another one. It is in both: a project's administrator may rename it, and so may who
// may edit the projects of its organization, and that alone.
func (on Resource) listedIn(scope ref.Scope) bool {
	switch on.Type {
	case action.Project:
		return on.Scope.Project != "" && scope == ref.Home(ref.Project, on.Scope)
	case action.Organization:
		return on.Scope.Project == "" && scope == ref.Home(ref.Organization, on.Scope)
	default:
		return false
	}
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

func (s Selector) has(on Resource) bool {
	switch {
	case s.Type != on.Type:
		return false
	case on.Some:
		return true
	case s.Attribute != "":
		if on.Attribute == nil {
			return false
		}
		for _, have := range on.Attribute(s.Attribute) {
			key, _, _ := strings.Cut(have, ":")
			if slices.Contains(s.Values, have) || s.Attribute == Tag && slices.Contains(s.Values, key) {
				return true
			}
		}
		return false
	}
	return len(s.IDs) == 0 || slices.Contains(s.IDs, on.ID)
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
func Legacy(scope ref.Scope) Right {
	return Right{By: "the token, which is nobody's: everything in " + scope.String(), Permissions: action.Every(), Within: []Extent{{Scope: scope, Children: true}}}
}

// Lacking are the permissions of a right over one extent that none of some
// rights gives over all of it.
func Lacking(rights []Right, of Right) []action.Permission {
	var out []action.Permission
	for _, p := range action.Permissions() {
		if of.Permissions.Has(p) && !slices.ContainsFunc(rights, func(r Right) bool { return r.Permissions.Has(p) && r.covers(of) }) {
			out = append(out, p)
		}
	}
	return out
}

// covers says whether a right is over all that another is over.
func (r Right) covers(o Right) bool {
	for _, want := range o.Within {
		if !slices.ContainsFunc(r.Within, func(e Extent) bool { return e == want || e.Children && e.Scope.Covers(want.Scope) }) {
			return false
		}
	}
	if len(r.Only) == 0 {
		return true
	}
	if len(o.Only) == 0 {
		return false
	}
	for _, want := range o.Only {
		if !slices.ContainsFunc(r.Only, func(s Selector) bool { return s.covers(want) }) {
			return false
		}
	}
	return true
}

// covers says whether a selector chooses all that another does, as far as that
// can be said without the resources.
func (s Selector) covers(o Selector) bool {
	within := func(these, those []string) bool {
		return !slices.ContainsFunc(these, func(x string) bool { return !slices.Contains(those, x) })
	}
	switch {
	case s.Type != o.Type:
		return false
	case s.Attribute != "":
		return s.Attribute == o.Attribute && within(o.Values, s.Values)
	case len(s.IDs) > 0:
		return o.Attribute == "" && len(o.IDs) > 0 && within(o.IDs, s.IDs)
	}
	return true
}

// Decision is whether something may be done, and why.
type Decision struct {
	Allowed bool
	By      string              // what gives the right; empty: no right is needed, or there is none
	Missing []action.Permission // any of which would have been enough
}

// Free says whether an action takes no permission that is known before its
// handler asks, once it knows what for.
func Free(do action.Entry, on Resource) bool {
	on = on.Of(do)
	return len(do.Takes(on.Type)) == 0 && (do.Verb == "" || on.Type == "")
}

// Decide says whether rights allow an action on a resource. It reads nothing
// but what it is given: the same rights give the same decision.
func Decide(rights []Right, do action.Entry, on Resource) Decision {
	on = on.Of(do)
	wanted := do.Takes(on.Type)
	if len(wanted) == 0 {
		return Decision{Allowed: Free(do, on)}
	}
	for _, r := range rights {
		for _, p := range wanted {
			if r.allows(p, on) {
				return Decision{Allowed: true, By: r.By}
			}
		}
	}
	return Decision{Missing: wanted}
}

func (r Right) allows(p action.Permission, on Resource) bool {
	return r.Permissions.Has(p) &&
		slices.ContainsFunc(r.Within, func(e Extent) bool { return e.has(on.Scope) || on.listedIn(e.Scope) }) &&
		(len(r.Only) == 0 || slices.ContainsFunc(r.Only, func(s Selector) bool { return s.has(on) }))
}

// Refusal is the error of a decision that doesn't allow: it names who was
// refused and what is missing.
func (d Decision) Refusal(actor string, on Resource) error {
	if d.Allowed {
		return nil
	}
	if len(d.Missing) == 0 {
		return fault.New(fault.Forbidden, "%s is disabled, or isn't there any more", actor)
	}
	return fault.New(fault.Forbidden, "%s may not do this in %s: %s is missing", actor, on.Scope, strings.Join(action.Names(d.Missing), " or "))
}
