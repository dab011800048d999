// Package input fills the runtime inputs of documents: the scalars that are
// `<+input>` with its suffixes (semantics/pipeline §2).
//
// It works on documents, not on typed entities, because a runtime input may
// stand for any value. Expressions other than `<+input>` are left alone, and
// where input sets come from is pkg/execution's.
package input

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Runtime is one runtime input of a document.
type Runtime struct {
	Path   string // e.g. "variables.image": items of lists are named by what identifies them
	Input  expr.Input
	Line   int
	Column int
	// Default is the value if none is given, if HasDefault: that of the input
	// itself, or of the variable that it is the value of.
	Default    string
	HasDefault bool
	// Required says that a run needs a value.
	Required bool
	Type     string // of a variable: String, Number or Secret
}

// Find lists a document's runtime inputs in document order, those that are
// asked for while the pipeline runs included.
func Find(doc *yamldoc.Node) []Runtime {
	m := merger{template: true}
	m.node(doc, spot{})
	return m.found
}

// runtime reads a runtime input. One that is misspelt is none: whoever decodes
// the document reports it.
func runtime(n *yamldoc.Node) (expr.Input, bool) {
	if n == nil || n.Kind != yamldoc.Scalar || !expr.IsRuntimeInput(n.Value) {
		return expr.Input{}, false
	}
	in, err := expr.ParseInput(n.Value)
	return in, err == nil
}

// Describe says in a few words what a value may be, e.g. "required; one of
// gold, silver". It fits into a comment.
func (r Runtime) Describe() string {
	var parts []string
	switch {
	case r.Input.AtStart:
		parts = append(parts, "asked for when it starts")
	case r.Required:
		parts = append(parts, "required")
	case r.HasDefault:
		parts = append(parts, fmt.Sprintf("default %q", r.Default))
	default:
		parts = append(parts, "optional")
	}
	if r.Type == "Number" {
		parts = append(parts, "a number")
	}
	for _, list := range [][]string{r.Input.Allowed, r.Input.One} {
		if list != nil {
			parts = append(parts, "one of "+strings.Join(list, ", "))
		}
	}
	if r.Input.Many != nil {
		parts = append(parts, "some of "+strings.Join(r.Input.Many, ", ")+", with commas between")
	}
	if r.Input.Regex != "" {
		parts = append(parts, "matches "+r.Input.Regex)
	}
	return strings.Join(parts, "; ")
}
