package entity

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// decoder decodes one document.
type decoder struct {
	*yamldoc.Report
	options    Options
	kind       ref.Kind
	scope      ref.Scope // of the document
	references []Reference
	stored     []FileReference
	barriers   []yamldoc.Value // the barrierRefs of the steps, as far as they are known
	closed     bool            // the last key was one that is refused, see refuses
}

// keys says what each key of a mapping means. A key that isn't in it is one
// that nobody documents.
type keys map[string]func(yamldoc.Value)

// fields decodes a mapping by its keys, in document order.
func (d *decoder) fields(v yamldoc.Value, k keys) {
	if d.whole(v) {
		return
	}
	for e := range d.Mapping(v) {
		if decode, ok := k[e.Key]; ok {
			decode(e)
			continue
		}
		d.Unknown(e, d.known(v, k, e.Key)...)
	}
}

// known are the keys of a mapping. If the one that is most like a key that
// isn't among them would be refused, it is left out: it was perhaps meant, but
// is nothing to propose. Who watches is told of all.
func (d *decoder) known(v yamldoc.Value, k keys, unknown string) []string {
	names := slices.Sorted(maps.Keys(k))
	if d.Watched() || d.Hint(unknown, names) == "" {
		return names
	}
	if near := yamldoc.Nearest(unknown, names); v.Node.Get(near) == nil && d.refuses(k[near]) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == near })
	}
	return names
}

// refuses says whether the decoder of a key is one that refuses. It is given
// nothing, and what it says of that isn't kept.
func (d *decoder) refuses(decode func(yamldoc.Value)) bool {
	report := d.Report
	defer func() { d.Report = report }()
	d.Report, d.closed = yamldoc.NewReport(""), false
	decode(yamldoc.Sub(&yamldoc.Node{}, ""))
	return d.closed
}

// list gives the items of a list. An item that is nothing is reported.
func (d *decoder) list(v yamldoc.Value) iter.Seq[yamldoc.Value] {
	return func(yield func(yamldoc.Value) bool) {
		if d.whole(v) {
			return
		}
		for item := range d.List(v) {
			if item.Null() {
				d.Errorf(item, wrongType, "found an item that is empty")
			} else if !yield(item) {
				return
			}
		}
	}
}

// whole says whether an expression stands for a whole mapping or list. A
// runtime input may: it is filled, and the document checked again, before
// anything runs. Anything else is reported.
func (d *decoder) whole(v yamldoc.Value) bool {
	if !v.Is(yamldoc.Scalar) || !strings.Contains(v.Node.Value, "<+") {
		return false
	}
	if d.Left(v) {
		return true
	}
	if in, err := expr.ParseInput(v.Node.Value); !expr.IsRuntimeInput(v.Node.Value) || err == nil && in.AtStart {
		d.Unsupported(v, "an expression for the whole of %q isn't supported yet; write out its keys or items", v.Key)
		return true
	}
	d.String(v) // says what is wrong with it
	return true
}

// need reports the keys that a mapping lacks.
func (d *decoder) need(v yamldoc.Value, names ...string) {
	if v.Is(yamldoc.Mapping) {
		d.Missing(v, names...)
	}
}

// oneOf reports a mapping that hasn't exactly one of the keys. An empty list
// beside another key is left over from an editor and counts as absent.
func (d *decoder) oneOf(v yamldoc.Value, names ...string) {
	d.Takes(v, yamldoc.UseOneOf, names...)
	if !v.Is(yamldoc.Mapping) {
		return
	}
	var found, empty []string
	for _, k := range names {
		switch n := v.Node.Get(k); {
		case n == nil:
		case n.Kind == yamldoc.Sequence && len(n.Items) == 0:
			empty = append(empty, k)
		default:
			found = append(found, k)
		}
	}
	switch {
	case len(found) == 0 && len(empty) > 0: // what that means, the key's own decoder says
	case len(found) > 1:
		d.Errorf(v, ambiguous, "found %s; want only one of them", strings.Join(found, " and "))
	case len(found) == 0 || child(v, found[0]).Null():
		d.Errorf(v, missingKey, "one of the keys %s is missing", strings.Join(names, ", "))
	}
}

// The binders: each makes the decoder of one key, which fills a field.

func (d *decoder) text(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.String(v) }
}

func (d *decoder) flag(f *yamldoc.Field[bool]) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.Bool(v) }
}

func (d *decoder) duration(f *yamldoc.Field[time.Duration]) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.Duration(v) }
}

func (d *decoder) words(f *yamldoc.Field[[]string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.Strings(v) }
}

func (d *decoder) texts(f *yamldoc.Field[map[string]string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.StringMap(v) }
}

// word binds one of a set of words.
func (d *decoder) word(f *yamldoc.Field[string], words ...string) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *f = d.Enum(v, words...) }
}

// literal binds one of a set of words that decides how the rest is read, so
// no expression can stand for it.
func (d *decoder) literal(f *yamldoc.Field[string], words ...string) func(yamldoc.Value) {
	return d.supported(f, "", words)
}

// supported is literal where Harness has more words than Slipway can do.
func (d *decoder) supported(f *yamldoc.Field[string], what string, can []string, harness ...string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		d.Takes(v, yamldoc.UseEnum, can...)
		d.Takes(v, yamldoc.UseRefused, harness...)
		switch {
		case !f.Set || slices.Contains(can, f.Value):
		case f.Expr != "":
			d.Errorf(v, wrongValue, "found an expression; want %s", oneOf(can))
		case slices.Contains(harness, f.Value):
			d.unsupportedWord(v, what, f.Value, can)
		default:
			d.Errorf(v, wrongValue, "found %q; want %s%s", f.Value, oneOf(can), d.meant(f.Value, can, harness))
		}
	}
}

// node binds a part that is kept as it stands.
func (d *decoder) node(n **yamldoc.Node) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		if !d.whole(v) {
			*n = v.Node
		}
	}
}

// fixed reports an expression other than a runtime input: the plan needs the
// value before anything runs.
func (d *decoder) fixed(v yamldoc.Value, expression string) {
	if expression != "" && !expr.IsRuntimeInput(expression) {
		d.Unsupported(v, "found an expression; here only a fixed value or <+input> is supported yet")
	}
}

// refuse makes the decoder of a key that Harness has and Slipway can't honour
// yet. A value that changes nothing passes.
func (d *decoder) refuse(what string) func(yamldoc.Value) {
	return d.never(what + " yet")
}

// never is refuse for what won't come; why says it in full, and what to write
// instead.
func (d *decoder) never(why string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.closed = true
		if !neutral(v.Node) {
			d.Unsupported(v, "%s", why)
		}
	}
}

// idle makes the decoder of a key that documents have and that changes nothing
// here, however it is decoded; why says why, after "no effect here:".
func (d *decoder) idle(why string, decode func(yamldoc.Value)) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		decode(v)
		d.Takes(v, yamldoc.UseIdle, why)
		if !neutral(v.Node) {
			d.Warnf(v.AtKey(), noEffect, "%s has no effect here: %s", v.Key, why)
		}
	}
}

// neutral says whether a value is the same as none: null, blank, false, an
// empty list, or a mapping of nothing else.
func neutral(n *yamldoc.Node) bool {
	if n == nil {
		return true
	}
	switch n.Kind {
	case yamldoc.Scalar:
		return n.Value == "" || strings.EqualFold(n.Value, "false")
	case yamldoc.Sequence:
		return len(n.Items) == 0
	case yamldoc.Mapping:
		return !slices.ContainsFunc(n.Entries, func(e yamldoc.Entry) bool { return !neutral(e.Value) })
	case yamldoc.Null:
	}
	return true
}

// identifier decodes an identifier, which is never an expression.
func (d *decoder) identifier(v yamldoc.Value, check func(string) error) yamldoc.Field[string] {
	f := d.String(v)
	if !f.Set {
		return f
	}
	if err := check(v.Node.Value); err != nil {
		d.Errorf(v, badIdentifier, "%s", err)
	}
	return f
}

// name binds a name.
func (d *decoder) name(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		if *f = d.String(v); !f.Set {
			return
		}
		if err := ref.CheckName(v.Node.Value); err != nil {
			d.Errorf(v, badName, "%s", err)
		}
	}
}

// peek is the text of a mapping's key, read ahead of its turn.
func peek(v yamldoc.Value, names ...string) string {
	if n := v.Node.At(names...); n != nil && n.Kind == yamldoc.Scalar {
		return n.Value
	}
	return ""
}

// child is a mapping's key as a value; the mapping itself if it has none such.
func child(v yamldoc.Value, key string) yamldoc.Value {
	n := v.Node.Get(key)
	if n == nil {
		return v
	}
	return at(v, key, n)
}

// at is a part of a mapping as a value.
func at(v yamldoc.Value, key string, n *yamldoc.Node) yamldoc.Value {
	path := key
	if v.Path != "" {
		path = v.Path + "." + key
	}
	c := yamldoc.Sub(n, path)
	c.Key = key
	return c
}

// seen finds names that come twice.
type seen map[string]yamldoc.Pos

// again is the first place of a name that has come before.
func (s seen) again(name string, at yamldoc.Pos) (yamldoc.Pos, bool) {
	first, ok := s[name]
	if !ok {
		s[name] = at
	}
	return first, ok
}

// unique reports an identifier that stands twice in a list.
func (d *decoder) unique(s seen, v yamldoc.Value, name string) {
	if name == "" {
		return
	}
	if first, ok := s.again(name, v.Pos(d.Report)); ok {
		d.Errorf(v, duplicateIdentifier, "%s stands twice; the first is in line %d", strconv.Quote(name), first.Line)
	}
}
