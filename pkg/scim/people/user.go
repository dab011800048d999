package people

import (
	"cmp"
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/access/sso"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/scim"
	"github.com/slipway-cd/slipway/pkg/store"
)

func userKey(account ref.Scope, id string) store.EntityKey {
	return store.EntityKey{Scope: account, Kind: ref.User, ID: id}
}

// userOf is a user's document as a directory knows the user.
func userOf(d doc) scim.User {
	u, said := d.of.User, d.of.User.Directory
	return scim.User{
		ID: d.saved.Key.ID, ExternalID: said.ExternalID, UserName: cmp.Or(said.UserName, u.Email), DisplayName: cmp.Or(said.DisplayName, d.of.Name.Value),
		GivenName: said.GivenName, FamilyName: said.FamilyName, Email: u.Email, Active: !u.Disabled, Created: d.saved.CreatedAt, Modified: d.saved.UpdatedAt,
	}
}

// write gives the document of a user whom a directory manages.
func writeUser(u scim.User, old []byte) ([]byte, error) {
	name, sent := nameOf(u.DisplayName, u.ID)
	userName := u.UserName
	if userName == u.Email {
		userName = ""
	}
	var disabled any
	if !u.Active {
		disabled = true
	}
	return rewritten(
		ref.User, old, change{"identifier", u.ID}, change{"name", name}, change{"email", orNil(u.Email)}, change{"disabled", disabled}, change{"externallyManaged", true},
		change{"scim", said("externalId", u.ExternalID, "userName", userName, "displayName", sent, "givenName", u.GivenName, "familyName", u.FamilyName)},
	)
}

// User reads one.
func (p *People) User(ctx context.Context, account ref.Scope, id string) (scim.User, error) {
	d, err := p.one(ctx, userKey(account, id))
	if err != nil {
		return scim.User{}, err
	}
	return userOf(d), nil
}

// Users reads those who are chosen, by their ids.
func (p *People) Users(ctx context.Context, account ref.Scope, f scim.Filter, base string) ([]scim.User, error) {
	var out []scim.User
	add := func(d doc) bool {
		if !d.managed() {
			return false
		}
		u := userOf(d)
		if !f.Has(u.Object(base)) {
			return false
		}
		out = append(out, u)
		return true
	}
	// Directories look for each user by the userName, which only one has.
	if name, ok := f.Equals("userName"); ok && name != "" {
		for _, id := range sso.Identifiers(strings.ToLower(name)) {
			d, err := p.one(ctx, userKey(account, id))
			if err != nil && !fault.Is(err, fault.NotFound) {
				return nil, err
			}
			if err == nil && add(d) {
				return out, nil
			}
		}
	}
	all, err := p.all(ctx, account, ref.User)
	for _, d := range all {
		add(d)
	}
	return out, err
}

// CreateUser makes a user. One whom nobody manages and who has the mail address is
// that one from then on.
func (p *People) CreateUser(ctx context.Context, a Asker, u scim.User) (scim.User, error) {
	err := p.settled(ctx, a, func(asOf int64) error {
		all, err := p.all(ctx, a.account(), ref.User)
		if err != nil {
			return err
		}
		var over *doc
		for i, d := range all {
			switch {
			case !same(userOf(d), u):
			case d.managed() || over != nil:
				return scim.Taken("the user %q has the userName or the mail address already", d.saved.Key.ID)
			default:
				over = &all[i]
			}
		}
		if over != nil {
			u.ID = over.saved.Key.ID
			return p.writeUser(ctx, a, asOf, u, over.saved)
		}
		for _, id := range sso.Identifiers(u.Email) {
			if _, err := p.store.Entity(ctx, userKey(a.account(), id)); !fault.Is(err, fault.NotFound) {
				if err != nil {
					return err
				}
				continue
			}
			u.ID = id
			return p.writeUser(ctx, a, asOf, u, store.Entity{})
		}
		return scim.Taken("there is a user of each identifier that could be %s's", u.Email)
	})
	if err != nil {
		return u, err
	}
	return p.User(ctx, a.account(), u.ID)
}

func (p *People) writeUser(ctx context.Context, a Asker, asOf int64, u scim.User, old store.Entity) error {
	text, err := writeUser(u, old.YAML)
	if err != nil {
		return err
	}
	return p.save(ctx, a, asOf, text, old.Version)
}

// same says whether two users would be one: people are known by their mail
// addresses, and to a directory by the userName.
func same(u, v scim.User) bool {
	return u.Email != "" && strings.EqualFold(u.Email, v.Email) || u.UserName != "" && strings.EqualFold(u.UserName, v.UserName)
}

// ChangeUser changes a user; who comes out as before isn't written.
func (p *People) ChangeUser(ctx context.Context, a Asker, id string, to func(scim.User) (scim.User, error)) (scim.User, error) {
	err := p.settled(ctx, a, func(asOf int64) error {
		d, err := p.one(ctx, userKey(a.account(), id))
		if err != nil {
			return err
		}
		was := userOf(d)
		u, err := to(was)
		if err != nil {
			return err
		}
		u.ID, u.Created, u.Modified = was.ID, was.Created, was.Modified
		switch {
		case u == was && u.Active:
			return nil
		case u == was: // what ends the tokens of who is disabled may have broken off before
			return p.save(ctx, a, asOf, d.saved.YAML, d.saved.Version)
		}
		if !same(u, was) || !strings.EqualFold(u.Email, was.Email) || !strings.EqualFold(u.UserName, was.UserName) {
			if err := p.free(ctx, a, u); err != nil {
				return err
			}
		}
		return p.writeUser(ctx, a, asOf, u, d.saved)
	})
	if err != nil {
		return scim.User{}, err
	}
	return p.User(ctx, a.account(), id)
}

// free says whether nobody else has the names of a user.
func (p *People) free(ctx context.Context, a Asker, u scim.User) error {
	all, err := p.all(ctx, a.account(), ref.User)
	if err != nil {
		return err
	}
	for _, d := range all {
		if d.saved.Key.ID != u.ID && same(userOf(d), u) {
			return scim.Taken("the user %q has the userName or the mail address already", d.saved.Key.ID)
		}
	}
	return nil
}
