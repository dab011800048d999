// Package template turns links to templates into plain YAML: each link is
// replaced by what the template holds, with the link's inputs and overrides
// filled in (semantics/pipeline §9).
//
// Every node of the result keeps the file, the line and the column that it
// comes from. Where templates are kept is said by a Lookup; what the result
// may hold is pkg/entity's to check.
package template

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The limits of one document's resolution.
const (
	maxDepth = 10      // of templates within templates (semantics/pipeline §9.3)
	maxUses  = 10_000  // of templates in all
	maxNodes = 200_000 // that templates bring, as many as one document may have
)

// Version is a version of a template as it is kept.
type Version struct {
	Label    string
	Revision int64         // how often this version has been saved
	Doc      *yamldoc.Node // below the key "template"
}

// Lookup finds a version of a template, the stable one if the label is empty.
// fault.NotFound if there is none. It is asked once for each in a resolution.
type Lookup func(ctx context.Context, name ref.Ref, label string) (Version, error)

// Name is a template for people: with its scope as a link says it, and its
// label, if that is known.
func Name(name ref.Ref, label string) string {
	text := name.ID
	switch {
	case name.Scope.Org == "":
		text = "account." + text
	case name.Scope.Project == "":
		text = "org." + text
	}
	if label == "" {
		return text
	}
	return text + "@" + label
}

// Use is a place where a document, or a template in it, links to a template.
type Use struct {
	Path     string      // of the node that is made of the template, e.g. stages[0].stage
	At       yamldoc.Pos // of templateRef
	Kind     Kind
	Template ref.Ref
	Label    string // of the version that was found; as written, if none was
	Wanted   string // the label as written; empty: the stable version
	Revision int64
	Direct   bool // the document itself links to it, not a template
	Missing  bool // there is no such template, and the link stands as it was

	file  string // of the nodes that it brought
	outer int    // the use whose template has the link; -1: the document has it
}

// Stable says whether the link means the stable version, whichever it is.
func (u Use) Stable() bool { return u.Wanted == "" }

// String names the version that is used, e.g. "org.build@v2".
func (u Use) String() string { return Name(u.Template, u.Label) }

// Resolved is a document without links.
type Resolved struct {
	Doc  *yamldoc.Node
	Uses []Use // in the order of the document, outer before inner
}

// Missing are the uses of templates that don't exist.
func (r Resolved) Missing() []Use {
	var out []Use
	for _, u := range r.Uses {
		if u.Missing {
			out = append(out, u)
		}
	}
	return out
}
