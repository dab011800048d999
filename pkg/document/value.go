package document

import (
	"strconv"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Peek is the text of a mapping's key, read ahead of its turn.
func Peek(v yamldoc.Value, names ...string) string {
	if n := v.Node.At(names...); n != nil && n.Kind == yamldoc.Scalar {
		return n.Value
	}
	return ""
}

// Child is a mapping's key as a value; the mapping itself if it has none such.
func Child(v yamldoc.Value, key string) yamldoc.Value {
	n := v.Node.Get(key)
	if n == nil {
		return v
	}
	return At(v, key, n)
}

// At is a node as a value that stands at a key of a mapping.
func At(v yamldoc.Value, key string, n *yamldoc.Node) yamldoc.Value {
	path := key
	if v.Path != "" {
		path = v.Path + "." + key
	}
	c := yamldoc.Sub(n, path)
	c.Key = key
	return c
}

// Seen finds names that come twice.
type Seen map[string]yamldoc.Pos

// Again is the first place of a name that has come before.
func (s Seen) Again(name string, at yamldoc.Pos) (yamldoc.Pos, bool) {
	first, ok := s[name]
	if !ok {
		s[name] = at
	}
	return first, ok
}

// Unique reports an identifier that stands twice in a list.
func (d *Decoder) Unique(s Seen, v yamldoc.Value, name string) {
	if name == "" {
		return
	}
	if first, ok := s.Again(name, v.Pos(d.Report)); ok {
		d.Errorf(v, DuplicateIdentifier, "%s stands twice; the first is in line %d", strconv.Quote(name), first.Line)
	}
}
