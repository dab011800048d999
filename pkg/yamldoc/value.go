package yamldoc

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
)

// Value is a node on its way through a decoder: with its key and its path.
type Value struct {
	Key  string // in the mapping that it comes from
	Node *Node
	Path string
	at   [2]int // the key's line and column
	file string // of the node, where that isn't the report's
}

// Root is a document's root as a value.
func Root(n *Node) Value { return Value{Node: n, at: [2]int{n.Line, n.Column}, file: n.File} }

// Sub is a node as a value at a path.
func Sub(n *Node, path string) Value {
	v := Value{Node: n, Path: path}
	if n != nil {
		v.at, v.file = [2]int{n.Line, n.Column}, n.File
	}
	return v
}

// Pos is the value's place, or its key's where the value is absent.
func (v Value) Pos(r *Report) Pos {
	p := v.KeyPos(r)
	if v.Node != nil && v.Node.Kind != Null && v.Node.Line > 0 {
		p.Line, p.Column = v.Node.Line, v.Node.Column
	}
	return p
}

// KeyPos is the place of the value's key.
func (v Value) KeyPos(r *Report) Pos {
	return Pos{File: cmp.Or(v.file, r.file), Line: v.at[0], Column: v.at[1], Path: v.Path}
}

// AtKey is the value's key alone, for a finding that is about the key.
func (v Value) AtKey() Value {
	v.Node = nil
	return v
}

// Is says whether the value is of a kind.
func (v Value) Is(k Kind) bool { return v.Node != nil && v.Node.Kind == k }

// Null says whether the value is absent or null.
func (v Value) Null() bool { return v.Node == nil || v.Node.Kind == Null }

// Found is what stands at a place, as people call it.
func Found(n *Node) string {
	if n == nil {
		return "nothing"
	}
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case Sequence:
		return "a list"
	case Scalar:
		return fmt.Sprintf("%q", Shorten(n.Value))
	case Null:
	}
	return "nothing"
}

// Shorten is the beginning of a text, for a message about it.
func Shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}

// Mapping gives the entries of a mapping. A value of another kind and a key
// that stands twice are reported; an absent one has no entries.
func (r *Report) Mapping(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		r.takesWhole(v, UseMapping)
		if v.Null() || r.Left(v) {
			return
		}
		if !v.Is(Mapping) {
			r.Errorf(v, "WRONG_TYPE", "found %s; want a mapping", Found(v.Node))
			return
		}
		seen := make(map[string]int, len(v.Node.Entries))
		for _, e := range v.Node.Entries {
			child := Value{Key: e.Key, Node: e.Value, Path: join(v.Path, e.Key), at: [2]int{e.Line, e.Column}}
			if e.Value != nil {
				child.file = e.Value.File
			}
			if line, ok := seen[e.Key]; ok {
				r.add(Error, child.KeyPos(r), "DUPLICATE_KEY", "key %q stands twice; the first is in line %d", Shorten(e.Key), line)
				continue
			}
			seen[e.Key] = e.Line
			if !yield(child) {
				return
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// List gives the items of a list; anything else is reported.
func (r *Report) List(v Value) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		r.takesWhole(v, UseList)
		if v.Null() || r.Left(v) {
			return
		}
		if !v.Is(Sequence) {
			r.Errorf(v, "WRONG_TYPE", "found %s; want a list", Found(v.Node))
			return
		}
		for i, item := range v.Node.Items {
			child := Sub(item, fmt.Sprintf("%s[%d]", v.Path, i))
			child.Key = v.Key
			if !yield(child) {
				return
			}
		}
	}
}

// Unknown reports a key that isn't among those known, with the nearest of
// them: a warning, or an error in a strict report. The key is kept.
func (r *Report) Unknown(v Value, known ...string) {
	severity := Warning
	if r.strict {
		severity = Error
	}
	r.add(severity, v.KeyPos(r), "UNKNOWN_KEY", "unknown key %q%s", Shorten(v.Key), r.Hint(v.Key, known))
}

// Unsupported reports what Harness has and Slipway can't do yet.
func (r *Report) Unsupported(v Value, format string, args ...any) {
	r.add(Error, v.KeyPos(r), "UNSUPPORTED", "%s", fmt.Sprintf(format, args...))
}

// Missing reports keys that a mapping must have.
func (r *Report) Missing(v Value, keys ...string) {
	r.Takes(v, UseNeeded, keys...)
	if r.Left(v) || v.Is(Scalar) || v.Is(Sequence) {
		return // that it is no mapping is reported where it is read as one
	}
	for _, k := range keys {
		if n := v.Node.Get(k); n == nil || n.Kind == Null {
			r.add(Error, v.Pos(r), "MISSING_KEY", "key %q is missing", k)
		}
	}
}

// Hint is the end of a message about an unknown word: the question whether
// the nearest of the known ones was meant. It is empty if none is near.
func (r *Report) Hint(word string, known []string) string {
	if len(r.findings) > maxFindings {
		return "" // nobody will read it, and looking takes time
	}
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// maxWord is longer than any key or type that Harness has.
const maxWord = 100

// maxKnown is more names than anybody gives the steps of a stage. Of each
// finding all of them are compared.
const maxKnown = 500

// Nearest is the known word that is most like the given one; empty if none
// is like it.
func Nearest(word string, known []string) string {
	if len(word) > maxWord || len(known) > maxKnown {
		return ""
	}
	best, at := "", max(len(word)/3, 1)+1
	for _, k := range known {
		if len(k)-len(word) >= at || len(word)-len(k) >= at {
			continue // it takes at least as many edits as the lengths differ
		}
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < at {
			best, at = k, d
		}
	}
	return best
}

// distance counts the edits between two words: insert, delete, replace, or
// swap two neighbours.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			rows[i][j] = min(replace, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
