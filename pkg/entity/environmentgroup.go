package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// EnvironmentGroup is the document of a group of environments of its own scope
// (semantics/entities §3.1).
type EnvironmentGroup struct {
	Color        yamldoc.Field[string]
	Environments []yamldoc.Field[string]
}

func (d environments) environmentGroup(v yamldoc.Value, e *Entity) *EnvironmentGroup {
	g := &EnvironmentGroup{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"color": d.Text(&g.Color),
		"envIdentifiers": func(v yamldoc.Value) {
			ids := document.Seen{}
			for item := range d.Items(v) {
				var one yamldoc.Field[string]
				if strings.Contains(item.Node.Value, ".") && !strings.Contains(item.Node.Value, "<+") {
					d.Errorf(item, document.BadReference, "found %q; an environment group has environments of its own scope, named without a prefix", item.Node.Value)
					continue
				}
				d.chosen(ref.Environment, &one)(item)
				d.Unique(ids, item, one.Value)
				g.Environments = append(g.Environments, one)
			}
			d.Empty(v, "found no environments: a stage that deploys to the group has nothing to deploy to")
		},
	}))
	d.Need(v, "identifier", "name", "envIdentifiers")
	return g
}
