package resolve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// tree resolves a document below a path; the path is for errors.
func (s *Scope) tree(n *yamldoc.Node, path string) (*yamldoc.Node, error) {
	if n == nil || !dynamic(n) {
		return n, nil // shared: documents are never changed
	}
	out := *n
	switch n.Kind {
	case yamldoc.Scalar:
		return s.leaf(n, path)
	case yamldoc.Mapping:
		out.Entries = slices.Clone(n.Entries)
		for i, e := range n.Entries {
			v, err := s.tree(e.Value, path+"."+e.Key)
			if err != nil {
				return nil, err
			}
			out.Entries[i].Value = v
		}
	case yamldoc.Sequence:
		out.Items = slices.Clone(n.Items)
		for i, item := range n.Items {
			v, err := s.tree(item, fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			out.Items[i] = v
		}
	case yamldoc.Null:
	}
	return &out, nil
}

// dynamic says whether a document has an expression in it.
func dynamic(n *yamldoc.Node) bool {
	switch n.Kind {
	case yamldoc.Scalar:
		return n.Must != "" || strings.Contains(n.Value, "<+")
	case yamldoc.Mapping:
		return slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return e.Value != nil && dynamic(e.Value) })
	case yamldoc.Sequence:
		return slices.ContainsFunc(n.Items, dynamic)
	case yamldoc.Null:
	}
	return false
}

// leaf resolves one scalar. A whole-value expression keeps its type.
func (s *Scope) leaf(n *yamldoc.Node, path string) (*yamldoc.Node, error) {
	v, err := checked(s, n.Value, n.Must)
	if err != nil {
		return nil, fmt.Errorf("%s (line %d): %w", strings.TrimPrefix(path, "."), n.Line, err)
	}
	if !strings.Contains(n.Value, "<+") {
		return n, nil
	}
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode the value of %s: %w", path, err)
	}
	var plain any
	if err := json.Unmarshal(doc, &plain); err != nil {
		return nil, fmt.Errorf("decode the value of %s: %w", path, err)
	}
	if v.Kind() != expr.KindList && v.Kind() != expr.KindMap {
		out := *n
		out.Value, out.Tag = v.Text(), yamldoc.Str
		return &out, nil
	}
	return yamldoc.FromAny(plain, n.Line, n.Column), nil
}

// Selectors resolves delegate selectors: an element may be an expression that
// gives a list or a comma-separated text (semantics/pipeline §1.6).
func (s *Scope) Selectors(list []string) ([]string, error) {
	var out []string
	for _, item := range list {
		v, err := s.value(item)
		if err != nil {
			return nil, fmt.Errorf("delegate selector %q: %w", item, err)
		}
		for _, part := range strings.Split(strings.Trim(v.Text(), "[]"), ",") {
			if part = strings.Trim(strings.TrimSpace(part), `"`); part != "" {
				out = append(out, part)
			}
		}
	}
	return out, nil
}
