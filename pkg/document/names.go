package document

import (
	"fmt"
	"iter"
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reference fills a field with the name of an entity. An expression may stand
// for it.
func (d *Decoder) Reference(kind ref.Kind, f *yamldoc.Field[string]) Rule {
	return func(v yamldoc.Value) {
		if *f = d.String(v); d.Refer != nil {
			d.Refer(kind, v, f.Value)
		}
	}
}

// File fills a field with the path of a file of the file store
// (semantics/entities §10.1).
func (d *Decoder) File(f *yamldoc.Field[string]) Rule {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.path(v, f.Value)
	}
}

// Files fills a field with paths of files or folders of the file store.
func (d *Decoder) Files(f *yamldoc.Field[[]string]) Rule {
	return func(v yamldoc.Value) {
		*f = d.Strings(v)
		for item := range Literals(v) {
			d.path(item, item.Node.Value)
		}
	}
}

// path reports what can't be a path of the file store.
func (d *Decoder) path(v yamldoc.Value, path string) {
	if path == "" {
		return
	}
	scope := d.Scope
	if scope.Account == "" { // nobody says where it lives: only the spelling is checked
		scope = ref.Scope{Account: "a", Org: "o", Project: "p"}
	}
	if _, err := ref.ParseFile(path, scope); err != nil {
		d.Errorf(v, BadReference, "%s", err)
	}
}

// Literals are the items of a list that are texts without expressions.
func Literals(v yamldoc.Value) iter.Seq[yamldoc.Value] {
	return func(yield func(yamldoc.Value) bool) {
		if !v.Is(yamldoc.Sequence) {
			return
		}
		for i, n := range v.Node.Items {
			item := yamldoc.Sub(n, fmt.Sprintf("%s[%d]", v.Path, i))
			if item.Is(yamldoc.Scalar) && n.Value != "" && !strings.Contains(n.Value, "<+") && !yield(item) {
				return
			}
		}
	}
}

// Empty warns of a list that is empty.
func (d *Decoder) Empty(v yamldoc.Value, format string, args ...any) {
	if v.Is(yamldoc.Sequence) && len(v.Node.Items) == 0 {
		d.Warnf(v, EmptyList, format, args...)
	}
}
