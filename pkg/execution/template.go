package execution

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// document is an entity's document below its root key, with what templates
// bring in place of the links to them as they are now: the plan keeps it, so a
// version that is changed or made stable later doesn't touch the execution.
func (b *build) document(e store.Entity) (*yamldoc.Node, error) {
	file := string(e.Key.Kind) + " " + e.Key.ID
	root, err := root(file, e)
	if err != nil {
		return nil, err
	}
	report := yamldoc.NewReport(file)
	resolved, err := template.Resolve(b.ctx, root, e.Key.Scope, report, catalog.Templates(b.entities))
	if err != nil {
		return nil, err
	}
	for _, u := range resolved.Missing() {
		report.ErrorAt(u.At, "UNKNOWN_REFERENCE", "there is no template %s", u)
	}
	if err := report.Err(); err != nil {
		return nil, err
	}
	for _, u := range resolved.Uses {
		one := plan.Template{Scope: u.Template.Scope, ID: u.Template.ID, Version: u.Label, Revision: u.Revision}
		if !slices.Contains(b.templates, one) {
			b.templates = append(b.templates, one)
		}
	}
	return resolved.Doc.Get(string(e.Key.Kind)), nil
}
