package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// organization decodes the record of an organization (semantics/entities §1), which
// lives in its account.
func (d settings) organization(v yamldoc.Value, e *Entity) {
	keys := d.meta(e)
	delete(keys, "orgIdentifier") // the identifier says which it is
	delete(keys, "projectIdentifier")
	d.Fields(v, keys)
	d.Need(v, "identifier", "name")
}

// project decodes the record of a project (semantics/entities §1), which lives in its
// organization.
func (d settings) project(v yamldoc.Value, e *Entity) {
	keys := d.meta(e)
	delete(keys, "projectIdentifier")
	var color yamldoc.Field[string]
	d.Fields(v, document.Merge(keys, document.Keys{
		"color":   d.PlainText(&color, "a colour, such as #0063F7: it is shown beside the project"),
		"modules": d.modules,
	}))
	d.Need(v, "identifier", "name")
	if e.Scope.Org == "" {
		d.Errorf(v, wrongScope, "a project is of an organization; want an orgIdentifier")
	}
}

// modules are the parts of the vendor's product that a project was shown in. They are
// kept with the document, and say nothing to Slipway, which has one.
func (d settings) modules(v yamldoc.Value) {
	for item := range d.Items(v) {
		f := d.String(item)
		d.Plain(item, f.Expr, "the name of a module, such as CD")
	}
}
