package catalog

import (
	"context"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/template"
	"github.com/slipway-cd/slipway/pkg/templatestore"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Resolved is a saved document with what templates bring in place of the links
// to them, as a run that starts now would have it.
type Resolved struct {
	Entity   store.Entity   // as it was saved
	YAML     []byte         // each line that a template brought names it behind
	Uses     []template.Use // in the order of the document, outer before inner
	Findings []fault.Detail // what is wrong with the links, and with the result
}

// Resolved shows what a saved document becomes.
func (c *Catalog) Resolved(ctx context.Context, key store.EntityKey) (Resolved, error) {
	e, err := c.get(ctx, key)
	if err != nil {
		return Resolved{}, err
	}
	whole, _, err := documentOf(key, e.YAML)
	if err != nil {
		return Resolved{}, err
	}
	report := yamldoc.NewReport("")
	_, made, err := Resolve(ctx, whole, report, c.options(Draft{Scope: key.Scope}), templatestore.Lookup(c.Store.Entity))
	if err != nil {
		return Resolved{}, err
	}
	for _, u := range made.Missing() {
		report.ErrorAt(u.At, "UNKNOWN_REFERENCE", "there is no template %s; a run would fail", u)
	}
	return Resolved{Entity: e, YAML: yamldoc.Format(made.Doc, origin), Uses: made.Uses, Findings: report.Details()}, nil
}

// get reads an entity; of a template without a version, the stable one.
func (c *Catalog) get(ctx context.Context, key store.EntityKey) (store.Entity, error) {
	if key.Kind != ref.Template {
		return c.Store.Entity(ctx, key)
	}
	id, label := template.SplitID(key.ID)
	return templatestore.Version(ctx, c.Store.Entity, ref.Ref{Scope: key.Scope, ID: id}, label)
}

// origin names what brought a line, e.g. build@v1:12.
func origin(n *yamldoc.Node) string {
	if n == nil || n.File == "" || n.Kind == yamldoc.Mapping || n.Kind == yamldoc.Sequence {
		return ""
	}
	return fmt.Sprintf("%s:%d", strings.TrimPrefix(n.File, "template "), n.Line)
}
