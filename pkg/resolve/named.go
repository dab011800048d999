package resolve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/secret"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Named is a secret that resolving has handed out, and who named it.
type Named struct {
	Name string // under which pkg/secret knows it
	// ByText: no document of what runs names it, only the text that was resolved.
	ByText bool
}

// name notes that a secret is handed out. Once a document names it, the text
// may as well.
func (p *placeholders) name(name string, byText bool) {
	if only, known := p.named[name]; !known || only {
		p.named[name] = byText
	}
}

// Named lists the secrets that were handed out, by their names.
func (s *Scope) Named() []Named {
	var out []Named
	var written map[string]bool
	for name, byText := range s.secrets.named {
		if byText && written == nil {
			written = s.written()
		}
		out = append(out, Named{Name: name, ByText: byText && !written[name]})
	}
	slices.SortFunc(out, func(a, b Named) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// written are the names of the secrets that stand in the node's documents: its
// own and those around it up to the pipeline's head, and of what its stage
// deploys where. Other steps' aren't the node's.
func (s *Scope) written() map[string]bool {
	out := mentioned{s, map[string]bool{}}
	for n := s.Node; n != nil; n = n.Parent() {
		out.collect(s.Doc(n))
	}
	var d *plan.Deployment
	if stage := s.Node.Stage(); stage != nil {
		d = stage.Deploys(s.State(stage.ID))
	}
	if d == nil {
		return out.names
	}
	for _, doc := range []*yamldoc.Node{d.Service, d.Environment, d.Infrastructure, d.Template} {
		out.collect(doc)
	}
	for _, o := range d.Overrides {
		out.collect(o.Doc)
	}
	return out.names
}

// mentioned are the names of secrets as documents are read for them.
type mentioned struct {
	scope *Scope
	names map[string]bool
}

// collect adds the names of the secrets in a document.
func (m mentioned) collect(n *yamldoc.Node) {
	switch {
	case n == nil:
	case n.Kind == yamldoc.Scalar:
		for _, text := range entity.SecretsIn(n.Value) {
			m.add(text)
		}
	case n.Kind == yamldoc.Mapping:
		if value := n.Text("value"); n.Text("type") == "Secret" && !strings.Contains(value, "<+") {
			m.add(value)
		}
		for _, e := range n.Entries {
			m.collect(e.Value)
		}
	case n.Kind == yamldoc.Sequence:
		for _, item := range n.Items {
			m.collect(item)
		}
	}
}

// add adds a secret by its reference. What isn't one names nothing.
func (m mentioned) add(text string) {
	if r, _, err := m.scope.access().secretRef(text, m.scope.Execution.Scope); err == nil {
		m.names[secret.Name(r)] = true
	}
}
