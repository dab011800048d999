package scim

import (
	"slices"
	"time"
)

// Group is a group as a directory knows it.
type Group struct {
	ID          string
	ExternalID  string
	DisplayName string
	Members     []string // the ids of users, sorted
	Created     time.Time
	Modified    time.Time
}

// Object is the group as it is answered.
func (g Group) Object(base string) Object {
	members := make([]any, len(g.Members))
	for i, id := range g.Members {
		members[i] = map[string]any{"value": id, "$ref": base + "/Users/" + id, "type": "User"}
	}
	o := Object{
		"schemas": []any{GroupSchema}, "id": g.ID, "displayName": g.DisplayName, "members": members,
		"meta": meta("Group", base+"/Groups/"+g.ID, g.Created, g.Modified),
	}
	set(o, "externalId", g.ExternalID)
	return o
}

// GroupOf reads a group that a directory sends.
func GroupOf(o Object) (Group, error) {
	var g Group
	var err error
	if g.ExternalID, err = text(o, "externalId"); err != nil {
		return g, err
	}
	if g.DisplayName, err = text(o, "displayName"); err != nil {
		return g, err
	}
	if g.DisplayName == "" {
		return g, Unfit("the group has no displayName")
	}
	members, err := values(o, "members")
	if err != nil {
		return g, err
	}
	for _, m := range members {
		if kind, err := text(m, "type"); err != nil {
			return g, err
		} else if kind == "Group" {
			return g, Unfit("a group can't be in another; want users as members")
		}
		id, err := text(m, "value")
		if err != nil {
			return g, err
		}
		if id == "" {
			return g, Unfit("a member has no value, which would be the id of a user")
		}
		g.Members = append(g.Members, id)
	}
	slices.Sort(g.Members)
	g.Members = slices.Compact(g.Members)
	return g, nil
}

// Patched is the group after a patch.
func (g Group) Patched(p Patch, base string) (Group, error) {
	o, err := p.Apply(g.Object(base))
	if err != nil {
		return g, err
	}
	return GroupOf(o)
}
