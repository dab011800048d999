package people

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/scim"
	"github.com/slipway-cd/slipway/pkg/store"
)

func groupKey(account ref.Scope, id string) store.EntityKey {
	return store.EntityKey{Scope: account, Kind: ref.UserGroup, ID: id}
}

var (
	joins    = regexp.MustCompile(`[-.\s]`)
	specials = regexp.MustCompile(`[^0-9a-zA-Z_$]`)
)

// maxGroupID leaves room for what tells groups from others of the same name.
const maxGroupID = 110

// groupID is the identifier that a group has by its name, as Harness makes it. One
// that begins with _ would be of what is built in.
func groupID(display string) string {
	id := specials.ReplaceAllString(joins.ReplaceAllString(display, "_"), "")
	id = strings.TrimLeft(id, "0123456789$_")
	if id == "" {
		return fmt.Sprintf("group_%x", sha256.Sum256([]byte(display)))[:18]
	}
	id = id[:min(len(id), maxGroupID)]
	if ref.CheckID(ref.UserGroup, id) != nil { // a word that means something in pipelines
		return "group_" + id
	}
	return id
}

func groupOf(d doc) scim.Group {
	said := d.of.UserGroup.Directory
	members := slices.Clone(d.of.UserGroup.Users)
	slices.Sort(members)
	return scim.Group{
		ID: d.saved.Key.ID, ExternalID: said.ExternalID, DisplayName: cmp.Or(said.DisplayName, d.of.Name.Value), Members: slices.Compact(members),
		Created: d.saved.CreatedAt, Modified: d.saved.UpdatedAt,
	}
}

func (p *People) writeGroup(ctx context.Context, a Asker, asOf int64, g scim.Group, old store.Entity) error {
	name, sent := nameOf(g.DisplayName, g.ID)
	var members any
	if len(g.Members) > 0 {
		members = g.Members
	}
	text, err := rewritten(
		ref.UserGroup, old.YAML, change{"identifier", g.ID}, change{"name", name}, change{"externallyManaged", true},
		change{"scim", said("externalId", g.ExternalID, "displayName", sent)}, change{"users", members}, change{"userEmails", nil},
	)
	if err != nil {
		return err
	}
	return p.save(ctx, a, asOf, text, old.Version)
}

// Group reads one.
func (p *People) Group(ctx context.Context, account ref.Scope, id string) (scim.Group, error) {
	d, err := p.one(ctx, groupKey(account, id))
	if err != nil {
		return scim.Group{}, err
	}
	return groupOf(d), nil
}

// Groups reads those that are chosen, by their ids.
func (p *People) Groups(ctx context.Context, account ref.Scope, f scim.Filter, base string) ([]scim.Group, error) {
	var out []scim.Group
	add := func(d doc) bool {
		if !d.managed() {
			return false
		}
		g := groupOf(d)
		if !f.Has(g.Object(base)) {
			return false
		}
		out = append(out, g)
		return true
	}
	if name, ok := f.Equals("displayName"); ok && name != "" {
		d, err := p.one(ctx, groupKey(account, groupID(name)))
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, err
		}
		if err == nil && add(d) {
			return out, nil
		}
	}
	all, err := p.all(ctx, account, ref.UserGroup)
	for _, d := range all {
		add(d)
	}
	return out, err
}

// CreateGroup makes a group. One of that name which a directory doesn't manage stays
// as it is, beside it.
func (p *People) CreateGroup(ctx context.Context, a Asker, g scim.Group) (scim.Group, error) {
	err := p.settled(ctx, a, func(asOf int64) error {
		all, err := p.all(ctx, a.account(), ref.UserGroup)
		if err != nil {
			return err
		}
		if err := free(all, g); err != nil {
			return err
		}
		if err := p.known(ctx, a, g.Members, nil); err != nil {
			return err
		}
		id := groupID(g.DisplayName)
		for g.ID = id; ; {
			if _, err := p.store.Entity(ctx, groupKey(a.account(), g.ID)); fault.Is(err, fault.NotFound) {
				break
			} else if err != nil {
				return err
			}
			g.ID = another(id, g.ID)
		}
		return p.writeGroup(ctx, a, asOf, g, store.Entity{})
	})
	if err != nil {
		return g, err
	}
	return p.Group(ctx, a.account(), g.ID)
}

// another is the identifier after one that is taken: ops, ops_scim, ops_scim2 and so
// on.
func another(id, taken string) string {
	n := 0
	if taken == id {
		return id + "_scim"
	}
	if _, err := fmt.Sscanf(strings.TrimPrefix(taken, id+"_scim"), "%d", &n); err != nil {
		n = 1
	}
	return fmt.Sprintf("%s_scim%d", id, n+1)
}

// free says whether no other group that a directory manages has a group's name.
func free(all []doc, g scim.Group) error {
	for _, d := range all {
		if d.managed() && d.saved.Key.ID != g.ID && strings.EqualFold(groupOf(d).DisplayName, g.DisplayName) {
			return scim.Taken("the group %q has the displayName already", d.saved.Key.ID)
		}
	}
	return nil
}

// ChangeGroup changes a group; one that comes out as before isn't written. Its
// identifier stays, whatever its name is.
func (p *People) ChangeGroup(ctx context.Context, a Asker, id string, to func(scim.Group) (scim.Group, error)) (scim.Group, error) {
	err := p.settled(ctx, a, func(asOf int64) error {
		d, err := p.one(ctx, groupKey(a.account(), id))
		if err != nil {
			return err
		}
		was := groupOf(d)
		g, err := to(was)
		if err != nil {
			return err
		}
		g.ID = was.ID
		renamed := g.DisplayName != was.DisplayName
		if !renamed && g.ExternalID == was.ExternalID && slices.Equal(g.Members, was.Members) {
			return nil
		}
		if renamed {
			all, err := p.all(ctx, a.account(), ref.UserGroup)
			if err != nil {
				return err
			}
			if err := free(all, g); err != nil {
				return err
			}
		}
		if err := p.known(ctx, a, g.Members, was.Members); err != nil {
			return err
		}
		return p.writeGroup(ctx, a, asOf, g, d.saved)
	})
	if err != nil {
		return scim.Group{}, err
	}
	return p.Group(ctx, a.account(), id)
}

// known refuses members who aren't users that a directory manages. Those who were
// there before may stay.
func (p *People) known(ctx context.Context, a Asker, members, before []string) error {
	var keys []store.EntityKey
	for _, id := range members {
		if _, there := slices.BinarySearch(before, id); there {
			continue
		}
		if ref.CheckID(ref.User, id) != nil {
			return stranger(id)
		}
		keys = append(keys, userKey(a.account(), id))
	}
	const some = 100
	for part := range slices.Chunk(keys, some) {
		found, err := p.store.EntitiesAt(ctx, part)
		if err != nil {
			return err
		}
		there := map[string]bool{}
		for _, saved := range found {
			there[saved.Key.ID] = decoded(saved).managed()
		}
		for _, key := range part {
			if !there[key.ID] {
				return stranger(key.ID)
			}
		}
	}
	return nil
}

func stranger(id string) error {
	return scim.Unfit("the member %.100q is no user who is managed over SCIM; want the id of one", id)
}
