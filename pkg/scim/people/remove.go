package people

import (
	"context"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/scim"
	"github.com/slipway-cd/slipway/pkg/store"
)

// RemoveUser ends a user: first what the user may, then what names the user, and the
// document last, so that who asks again goes on with what is left. The audit trail
// keeps the name.
func (p *People) RemoveUser(ctx context.Context, a Asker, id string) error {
	d, err := p.one(ctx, userKey(a.account(), id))
	if err != nil {
		return err
	}
	_, err = p.ChangeUser(ctx, a, id, func(u scim.User) (scim.User, error) {
		u.Active = false
		return u, nil
	})
	if err != nil {
		return err
	}
	if err := p.unassign(ctx, a, d.saved.Key); err != nil {
		return err
	}
	if err := p.leave(ctx, a, d); err != nil {
		return err
	}
	return p.remove(ctx, a, d.saved.Key)
}

// RemoveGroup ends a group: what it gives, and then itself. One that something else
// names, such as an approval, stays, without members.
func (p *People) RemoveGroup(ctx context.Context, a Asker, id string) error {
	key := groupKey(a.account(), id)
	if _, err := p.one(ctx, key); err != nil {
		return err
	}
	if err := p.unassign(ctx, a, key); err != nil {
		return err
	}
	err := p.remove(ctx, a, key)
	if !fault.Is(err, fault.Referenced) {
		return err
	}
	_, changed := p.ChangeGroup(ctx, a, id, func(g scim.Group) (scim.Group, error) {
		g.Members = nil
		return g, nil
	})
	if changed != nil {
		return changed
	}
	stays := fault.Wrap(err, "the group has no members any more, and stays")
	if why, ok := errors.AsType[*fault.Error](err); ok {
		stays = stays.With(why.Details...)
	}
	return stays
}

// remove deletes a document, of whatever version.
func (p *People) remove(ctx context.Context, a Asker, key store.EntityKey) error {
	return p.settled(ctx, a, func(int64) error {
		err := p.discard(ctx, key, a.By, a.Author)
		if fault.Is(err, fault.NotFound) {
			return nil // somebody was faster
		}
		return err
	})
}

// unassign deletes the role assignments that name somebody, wherever they are.
func (p *People) unassign(ctx context.Context, a Asker, named store.EntityKey) error {
	var found []store.EntityKey
	for key, err := range store.Naming(ctx, p.store, named) {
		if err != nil {
			return err
		}
		if key.Kind == ref.RoleAssignment {
			found = append(found, key)
		}
	}
	for _, key := range found {
		if err := p.remove(ctx, a, key); err != nil {
			return err
		}
	}
	return nil
}

// leave takes a user out of the groups of the account, of its organizations and of
// their projects: a new user of that name isn't in them.
func (p *People) leave(ctx context.Context, a Asker, user doc) error {
	scopes := []ref.Scope{a.account()}
	for org, err := range store.All(ctx, p.store, a.account(), ref.Organization, "") {
		if err != nil {
			return err
		}
		in := ref.Scope{Account: a.account().Account, Org: org.Key.ID}
		scopes = append(scopes, in)
		for project, err := range store.All(ctx, p.store, in, ref.Project, "") {
			if err != nil {
				return err
			}
			scopes = append(scopes, ref.Scope{Account: in.Account, Org: in.Org, Project: project.Key.ID})
		}
	}
	for _, scope := range scopes {
		groups, err := p.all(ctx, scope, ref.UserGroup)
		if err != nil {
			return err
		}
		for _, g := range groups {
			if !hasUser(g.of.UserGroup, user) {
				continue
			}
			if err := p.without(ctx, a, g.saved.Key, user); err != nil {
				return err
			}
		}
	}
	return nil
}

func hasUser(g *entity.UserGroup, user doc) bool {
	return g.Has(user.saved.Key.ID) || user.of.User.Email != "" && g.Has(user.of.User.Email)
}

// without takes a user out of a group, whoever manages it and wherever it is: that is
// Slipway's own to do.
func (p *People) without(ctx context.Context, a Asker, key store.EntityKey, user doc) error {
	return p.settled(ctx, a, func(int64) error {
		saved, err := p.store.Entity(ctx, key)
		if fault.Is(err, fault.NotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := withoutNames(saved.YAML, user.saved.Key.ID, user.of.User.Email)
		if err != nil {
			return err
		}
		return p.write(ctx, Document{Scope: key.Scope, Text: text, Version: saved.Version}, a.Author)
	})
}

// withoutNames is a group's document without some of its users.
func withoutNames(text []byte, names ...string) ([]byte, error) {
	return edited(ref.UserGroup, text, func(body *yaml.Node) error {
		for _, key := range []string{"users", "userEmails"} {
			list := at(body, key)
			if list == nil || list.Kind != yaml.SequenceNode {
				continue
			}
			kept := list.Content[:0:0]
			for _, item := range list.Content {
				gone := false
				for _, name := range names {
					gone = gone || name != "" && strings.EqualFold(item.Value, name)
				}
				if !gone {
					kept = append(kept, item)
				}
			}
			list.Content = kept
		}
		return nil
	})
}
