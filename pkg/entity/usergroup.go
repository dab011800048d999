package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// UserGroup is people who are asked together, by the names that the bearers of
// tokens have (entities spec §13).
type UserGroup struct {
	Users []string
}

func (d *decoder) userGroup(v yamldoc.Value, e *Entity) *UserGroup {
	g := &UserGroup{}
	d.fields(v, merge(d.meta(e), keys{
		"users":      func(v yamldoc.Value) { g.add(d, v) },
		"userEmails": func(v yamldoc.Value) { g.add(d, v) },
		"notificationConfigs": func(v yamldoc.Value) {
			if len(v.Node.Items) > 0 {
				d.Unsupported(v, "a group's own ways of notification aren't supported yet; notification rules of the pipeline are")
			}
		},
		"ssoLinked": func(v yamldoc.Value) {
			if d.Bool(v).Value {
				d.Unsupported(v, "groups of an identity provider aren't supported yet; name the users")
			}
		},
		"externallyManaged": func(v yamldoc.Value) {
			if d.Bool(v).Value {
				d.Unsupported(v, "groups of an identity provider aren't supported yet; name the users")
			}
		},
	}))
	d.need(v, "identifier", "name")
	return g
}

func (g *UserGroup) add(d *decoder, v yamldoc.Value) {
	for item := range d.list(v) {
		f := d.String(item)
		switch {
		case f.Expr != "":
			d.Errorf(item, wrongValue, "found an expression; want a user's name")
		case strings.TrimSpace(f.Value) == "":
			d.Errorf(item, wrongValue, "found an empty text; want a user's name")
		default:
			g.Users = append(g.Users, f.Value)
		}
	}
}

// Has says whether a user is in the group. Case says nothing.
func (g *UserGroup) Has(user string) bool {
	for _, u := range g.Users {
		if strings.EqualFold(u, user) {
			return true
		}
	}
	return false
}
