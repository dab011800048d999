package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// EnvironmentGroup is the document of a group of environments of its own scope
// (entities spec §3.1).
type EnvironmentGroup struct {
	Color        yamldoc.Field[string]
	Environments []yamldoc.Field[string]
}

func (d *decoder) environmentGroup(v yamldoc.Value, e *Entity) *EnvironmentGroup {
	g := &EnvironmentGroup{}
	d.fields(v, merge(d.meta(e), keys{
		"color": d.text(&g.Color),
		"envIdentifiers": func(v yamldoc.Value) {
			ids := seen{}
			for item := range d.list(v) {
				var one yamldoc.Field[string]
				if strings.Contains(item.Node.Value, ".") && !strings.Contains(item.Node.Value, "<+") {
					d.Errorf(item, badReference, "found %q; an environment group has environments of its own scope, named without a prefix", item.Node.Value)
					continue
				}
				d.chosen(ref.Environment, &one)(item)
				d.unique(ids, item, one.Value)
				g.Environments = append(g.Environments, one)
			}
			d.empty(v, "found no environments: a stage that deploys to the group has nothing to deploy to")
		},
	}))
	d.need(v, "identifier", "name", "envIdentifiers")
	return g
}
