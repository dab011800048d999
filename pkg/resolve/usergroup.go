package resolve

import (
	"context"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Group reads a user group as it is now, by its reference from a scope; with
// it comes where it lives.
func Group(ctx context.Context, entities store.Entities, from ref.Scope, name string) (*entity.UserGroup, ref.Ref, error) {
	r, err := ref.Parse(name, from)
	if err != nil {
		return nil, r, fault.New(fault.Invalid, "user group %q: %w", name, err)
	}
	doc, err := entities.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.UserGroup, ID: r.ID})
	if fault.Is(err, fault.NotFound) {
		return nil, r, fault.New(fault.NotFound, "user group %q isn't in %s", r.ID, r.Scope)
	}
	if err != nil {
		return nil, r, err
	}
	docs, report := yamldoc.Parse(r.ID, doc.YAML)
	if err := report.Err(); err != nil {
		return nil, r, err
	}
	e := entity.Decode(docs[0], report, entity.Options{Scope: r.Scope})
	if err := report.Err(); err != nil {
		return nil, r, err
	}
	if e.UserGroup.Link.Provider != "" {
		e.UserGroup.Users, err = members(ctx, entities, r.Scope.Account, e.UserGroup.Link)
	}
	return e.UserGroup, r, err
}

// members are the users whom a provider named for a group when they logged in
// last, by their identifiers and their addresses.
func members(ctx context.Context, entities store.Entities, account string, link sso.Link) ([]string, error) {
	bound := map[store.EntityKey]sso.Binding{}
	for saved, err := range store.All(ctx, entities, ref.Scope{Account: account}, ref.LoginBinding, "") {
		if err != nil {
			return nil, err
		}
		if b := sso.Decode(saved.YAML); sso.OfUser(saved.Key.ID) && b.In(link) {
			bound[store.EntityKey{Scope: saved.Key.Scope, Kind: ref.User, ID: saved.Key.ID}] = b
		}
	}
	users, err := entities.EntitiesAt(ctx, slices.Collect(maps.Keys(bound)))
	var out []string
	for _, u := range users {
		if b := bound[u.Key]; !u.CreatedAt.After(b.Since) {
			out = append(out, u.Key.ID, b.Email)
		}
	}
	slices.Sort(out)
	return out, err
}

// UserGroup says whether there is a user group. Who is in it is read when it
// matters.
func (s *Scope) UserGroup(name string) error {
	if plan.EverybodysGroup(name) {
		return nil
	}
	_, _, err := Group(s.Context, s.Entities, s.Execution.Scope, name)
	return err
}

// ServiceAccount says whether there is a service account, by its reference from a
// scope.
func ServiceAccount(ctx context.Context, entities store.Entities, from ref.Scope, name string) error {
	r, err := ref.Parse(name, from)
	if err != nil {
		return fault.New(fault.Invalid, "service account %q: %w", name, err)
	}
	_, err = entities.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.ServiceAccount, ID: r.ID})
	if fault.Is(err, fault.NotFound) {
		return fault.New(fault.NotFound, "there is no service account %q in %s", r.ID, r.Scope)
	}
	return err
}

// GroupMails are the addresses of a user group's members.
func (s *Scope) GroupMails(name string) ([]string, error) {
	if plan.EverybodysGroup(name) {
		return nil, fault.New(fault.Unsupported, "who is in %s isn't known; name a group that was saved", name)
	}
	g, _, err := Group(s.Context, s.Entities, s.Execution.Scope, name)
	if err != nil {
		return nil, err
	}
	return g.Mails(), nil
}
