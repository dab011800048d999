package resolve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Known is an expression in a document, for people: what stands there, and what
// it is. Secrets are masked.
type Known struct {
	Path    string // in the document
	Written string
	Value   string
	Secret  bool  // some of the value is masked
	Err     error // it has no value, or none that can be shown
}

// Show resolves a document for people: what can't be resolved stays as it is
// written, and so does what is below the top-level keys named late. The values
// have at most so many bytes together; those that come after are left out.
func Show(s *Scope, n *yamldoc.Node, late []string, most int) (*yamldoc.Node, []Known) {
	k := &knowing{scope: s, late: late, room: most}
	return k.tree(n, ""), k.found
}

// knowing is a document that is being resolved for people.
type knowing struct {
	scope *Scope
	late  []string
	room  int
	found []Known
}

func (k *knowing) tree(n *yamldoc.Node, path string) *yamldoc.Node {
	if n == nil || !dynamic(n) {
		return n // shared: documents are never changed
	}
	out := *n
	switch n.Kind {
	case yamldoc.Scalar:
		return k.leaf(n, path)
	case yamldoc.Mapping:
		out.Entries = slices.Clone(n.Entries)
		for i, e := range n.Entries {
			if path != "" || !slices.Contains(k.late, e.Key) {
				out.Entries[i].Value = k.tree(e.Value, strings.TrimPrefix(path+"."+e.Key, "."))
			}
		}
	case yamldoc.Sequence:
		out.Items = slices.Clone(n.Items)
		for i, item := range n.Items {
			out.Items[i] = k.tree(item, fmt.Sprintf("%s[%d]", path, i))
		}
	case yamldoc.Null:
	}
	return &out
}

// leaf resolves one scalar. What is asked for while the pipeline runs is no
// expression yet.
func (k *knowing) leaf(n *yamldoc.Node, path string) *yamldoc.Node {
	if !strings.Contains(n.Value, "<+") || expr.IsRuntimeInput(n.Value) {
		return n
	}
	one := Known{Path: path, Written: n.Value}
	v, err := k.scope.leaf(n, path)
	var text string
	if err == nil {
		v, one.Secret = k.masked(v)
		text = textOf(v)
		if k.room -= len(text); k.room < 0 {
			err = fault.New(fault.TooLarge, "there is more than can be shown")
		}
	}
	if err != nil {
		message, _ := k.scope.secrets.masked(err.Error())
		one.Err, v = fault.New(fault.CodeOf(err), "%s", message), n
	} else {
		one.Value = text
	}
	k.found = append(k.found, one)
	return v
}

// textOf is a value as one text.
func textOf(n *yamldoc.Node) string {
	if n.Kind == yamldoc.Scalar {
		return n.Value
	}
	return expr.FromAny(n.Any()).Text()
}

// masked is a document without the placeholders of secrets, and whether it had any.
func (k *knowing) masked(n *yamldoc.Node) (*yamldoc.Node, bool) {
	if n == nil {
		return nil, false
	}
	out, some := *n, false
	if out.Value, some = k.scope.secrets.masked(n.Value); n.Kind == yamldoc.Scalar {
		return &out, some
	}
	out.Entries, out.Items = slices.Clone(n.Entries), slices.Clone(n.Items)
	for i := range out.Entries {
		e, hid := &out.Entries[i], false
		e.Value, hid = k.masked(e.Value)
		some = some || hid
		if e.Key, hid = k.scope.secrets.masked(e.Key); hid {
			some = true
		}
	}
	for i := range out.Items {
		hid := false
		out.Items[i], hid = k.masked(out.Items[i])
		some = some || hid
	}
	return &out, some
}

// masked is a text without the placeholders that were given out.
func (p *placeholders) masked(text string) (string, bool) {
	if !strings.Contains(text, "⟦") {
		return text, false
	}
	was := text
	for _, ph := range p.byRef {
		text = strings.ReplaceAll(text, ph, redact.Mask)
	}
	for ph := range p.late {
		text = strings.ReplaceAll(text, ph, redact.Mask)
	}
	for ph := range p.texts {
		text = strings.ReplaceAll(text, ph, redact.Mask)
	}
	return text, text != was
}
