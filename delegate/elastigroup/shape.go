package elastigroup

import (
	"fmt"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// byInstances is the only unit of a capacity in which machines can be counted.
const byInstances = "instance"

// wrapped is the member around a group in Spot's requests.
const wrapped = "group"

// part is what Slipway knows of a part of a configuration, because it sets members of
// it. All else is Spot's to check, which knows more than anybody lists.
type part struct {
	members map[string]part // it is a mapping with these, and with others
	list    bool            // it is a list
	only    string          // it is this text
	why     string          // likewise
}

func groupPart() part {
	launch := part{members: map[string]part{"imageId": {}, "images": {}, "userData": {}, "tags": {list: true}, "loadBalancersConfig": {}}}
	return part{members: map[string]part{
		"capacity": {members: map[string]part{
			"minimum": {}, "maximum": {}, "target": {}, "unit": {only: byInstances, why: "because machines are counted"},
		}},
		"compute": {members: map[string]part{launching: launch}},
	}}
}

// check checks a part of a file. Nothing is fine, too; none of the members may be meant
// by a name that is only like it.
func (p part) check(file, path string, n *yamldoc.Node) error {
	wants := func(want string) error {
		return wrong("%s:%d: %s: found %s; want %s", file, n.Line, path, what(n), want)
	}
	switch {
	case n.Kind == yamldoc.Null:
		return nil
	case p.members != nil && n.Kind != yamldoc.Mapping:
		return wants("a mapping")
	case p.list && n.Kind != yamldoc.Sequence:
		return wants("a list")
	case p.only != "" && n.Value != p.only:
		return wants(p.only + ", " + p.why)
	case p.members == nil:
		return nil
	}
	known := slices.Sorted(maps.Keys(p.members))
	for _, e := range n.Entries {
		if member, ok := p.members[e.Key]; ok {
			if err := member.check(file, path+"."+e.Key, e.Value); err != nil {
				return err
			}
		} else if near := yamldoc.Nearest(e.Key, known); near != "" && n.Get(near) == nil {
			return wrong("%s:%d: %s.%s: Spot knows no such member; did you mean %s?", file, e.Line, path, e.Key, near)
		}
	}
	return nil
}

// what is what stands somewhere, for people.
func what(n *yamldoc.Node) string {
	switch n.Kind {
	case yamldoc.Sequence:
		return "a list"
	case yamldoc.Mapping:
		return "a mapping"
	case yamldoc.Null, yamldoc.Scalar:
	}
	return fmt.Sprintf("%q", n.Value)
}
