// Package document is the dialect in which Slipway says what may stand in a
// YAML document: for each mapping one set of Keys, and for each key the rule
// that reads its value into a field. What is read, what is unknown, and what
// the JSON Schema says all come from these Keys, so a key is named once.
//
// A rule says what it takes a value for (yamldoc.Report.Takes) as well as
// reading it: those of this package do. One that is written by hand is made of
// them, and a mapping whose keys go by a word says so by peeking at it. A
// condition that is only checked, such as a number's range, the schema hasn't.
//
// It knows no kind of document and no step: pkg/entity and the step types say
// what theirs hold. How a YAML text becomes nodes with places is pkg/yamldoc's.
package document

import (
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Decoder decodes a document, or a part of one, and reports what is wrong with
// it. It is for one goroutine.
type Decoder struct {
	*yamldoc.Report
	// Why says why a word of a kind is refused, and what can be done instead;
	// empty if there is no more to say. It may be nil.
	Why func(what, word string) string
	// Scope is where the document lives, and so where what it names without a
	// scope is.
	Scope ref.Scope
	// Refer is told what the document names, as written. It may be nil.
	Refer  func(kind ref.Kind, at yamldoc.Value, name string)
	closed bool // the last key was one that is refused, see refuses
}

// New makes a decoder that reports to r.
func New(r *yamldoc.Report) *Decoder { return &Decoder{Report: r} }

// Rule reads the value of one key.
type Rule = func(yamldoc.Value)

// Keys says what each key of a mapping means. A key that isn't in it is one
// that nobody documents.
type Keys map[string]Rule

// Merge joins sets of keys; a later set's rule replaces an earlier one's.
func Merge(sets ...Keys) Keys {
	all := Keys{}
	for _, s := range sets {
		maps.Copy(all, s)
	}
	return all
}

// Fields decodes a mapping by its keys, in document order.
func (d *Decoder) Fields(v yamldoc.Value, k Keys) {
	d.TakesKeys(v, k)
	if d.Whole(v) {
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
// is nothing to propose.
func (d *Decoder) known(v yamldoc.Value, k Keys, unknown string) []string {
	names := slices.Sorted(maps.Keys(k))
	if d.Hint(unknown, names) == "" {
		return names
	}
	if near := yamldoc.Nearest(unknown, names); v.Node.Get(near) == nil && d.refuses(k[near]) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == near })
	}
	return names
}

// refuses says whether the rule of a key is one that refuses. It is given
// nothing, and what it says of that isn't kept.
func (d *Decoder) refuses(decode Rule) bool {
	report := d.Report
	defer func() { d.Report = report }()
	d.Report, d.closed = yamldoc.NewReport(""), false
	decode(yamldoc.Sub(&yamldoc.Node{}, ""))
	return d.closed
}

// Items gives the items of a list. An item that is nothing is reported.
func (d *Decoder) Items(v yamldoc.Value) iter.Seq[yamldoc.Value] {
	return func(yield func(yamldoc.Value) bool) {
		if d.Whole(v) {
			return
		}
		for item := range d.List(v) {
			if item.Null() {
				d.Errorf(item, WrongType, "found an item that is empty")
			} else if !yield(item) {
				return
			}
		}
	}
}

// Whole says whether an expression stands for a whole mapping or list. A
// runtime input may: it is filled, and the document checked again, before
// anything runs. Anything else is reported.
func (d *Decoder) Whole(v yamldoc.Value) bool {
	d.Takes(v, yamldoc.UseInput)
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

// Need reports the keys that a mapping lacks. What isn't a mapping has been
// reported as such.
func (d *Decoder) Need(v yamldoc.Value, names ...string) {
	if v.Is(yamldoc.Mapping) {
		d.Missing(v, names...)
	}
}

// NeedUnlessEmpty is Need for a mapping that may be empty, as editors leave it.
func (d *Decoder) NeedUnlessEmpty(v yamldoc.Value, names ...string) {
	d.Takes(v, yamldoc.UseEmpty)
	if v.Is(yamldoc.Mapping) && len(v.Node.Entries) > 0 {
		d.Missing(v, names...)
	}
}

// OneOf reports a mapping that hasn't exactly one of the keys. An empty list
// beside another key is left over from an editor and counts as absent.
func (d *Decoder) OneOf(v yamldoc.Value, names ...string) {
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
	case len(found) == 0 && len(empty) > 0: // what that means, the key's own rule says
	case len(found) > 1:
		d.Errorf(v, Ambiguous, "found %s; want only one of them", strings.Join(found, " and "))
	case len(found) == 0 || Child(v, found[0]).Null():
		d.Errorf(v, MissingKey, "one of the keys %s is missing", strings.Join(names, ", "))
	}
}
