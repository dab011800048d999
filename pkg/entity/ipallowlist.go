package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/access/allowlist"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ipAllowlist decodes from where people and programs come in.
func (d roles) ipAllowlist(v yamldoc.Value, e *Entity) *allowlist.List {
	list := &allowlist.List{Enabled: true, Of: allowlist.Sources()}
	d.Fields(v, document.Merge(d.own(e), document.Keys{
		"enabled": d.settled(&list.Enabled),
		"allowedSourceType": func(v yamldoc.Value) {
			list.Of = nil
			for item := range d.Items(v) {
				var of yamldoc.Field[string]
				d.Literal(&of, string(allowlist.UI), string(allowlist.API))(item)
				if source := allowlist.Source(of.Value); of.Set && !slices.Contains(list.Of, source) {
					list.Of = append(list.Of, source)
				}
			}
			d.Filled(v, document.WrongValue, "found nothing; want UI, API or both, or enabled: false")
		},
		"ipAddress": func(v yamldoc.Value) {
			d.Spelled(v, document.WrongValue, func(text string) (err error) {
				list.Block, err = allowlist.Parse(text)
				return err
			})
		},
	}))
	d.Need(v, "identifier", "name", "ipAddress")
	if e.Scope.Org != "" {
		d.Errorf(v, wrongScope, "IP allow lists are the account's; want no orgIdentifier, and to save it with --org ''")
	}
	return list
}
