package template

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// overlay gives a template's body with the link's inputs in it. Only what is
// <+input> in the template can be set; the keys around it are there to find
// the place (pipeline spec §2.3 and §9.3 (2)). What isn't set stays <+input>
// and is asked for by the document that links.
func (r *resolver) overlay(body *yamldoc.Node, inputs yamldoc.Value, use int) *yamldoc.Node {
	o := overlay{resolver: r, body: body, use: use}
	return o.value(body, inputs)
}

// overlay fills one template's inputs.
type overlay struct {
	*resolver
	body *yamldoc.Node
	use  int
}

func (o *overlay) value(n *yamldoc.Node, in yamldoc.Value) *yamldoc.Node {
	switch {
	case in.Node == nil:
		return n
	case n.Kind == yamldoc.Scalar && expr.IsRuntimeInput(n.Value):
		return o.fill(n, in)
	case in.Null():
		return n
	case n.Kind == yamldoc.Mapping && in.Is(yamldoc.Mapping):
		return o.mapping(n, in)
	case n.Kind == yamldoc.Sequence && in.Is(yamldoc.Sequence):
		return o.sequence(n, in)
	case n.Kind == in.Node.Kind && n.Value == in.Node.Value:
		return n
	case in.Key == "identifier" || in.Key == "type" || in.Key == "name":
		o.report.Errorf(in, unknownInput, "found %s %q; template %s has %q here", in.Key, textOf(in.Node), o.uses[o.use], textOf(n))
	default:
		o.unknown(in)
	}
	return n
}

// unknown reports an input that the template doesn't ask for.
func (o *overlay) unknown(in yamldoc.Value) {
	const named = 10
	var asks []string
	for _, one := range input.Find(o.body) {
		asks = append(asks, one.Path)
	}
	if len(asks) > named {
		asks = append(asks[:named], "...")
	}
	if len(asks) == 0 {
		asks = []string{"nothing"}
	}
	o.report.Errorf(in, unknownInput, "template %s doesn't ask for this input; it asks for %s", o.uses[o.use], strings.Join(asks, ", "))
}

// fill replaces a runtime input of the template.
func (o *overlay) fill(n *yamldoc.Node, in yamldoc.Value) *yamldoc.Node {
	given := textOf(in.Node)
	if !in.Is(yamldoc.Scalar) || !expr.IsRuntimeInput(given) {
		o.check(n, in)
		return in.Node
	}
	out := *in.Node
	suffixes := strings.TrimPrefix(strings.TrimSpace(n.Value), plainInput)
	own := strings.TrimPrefix(strings.TrimSpace(given), plainInput)
	if own == suffixes {
		return &out
	}
	// Both hold: the template's limits can't be lifted, and each suffix may be
	// said once (pipeline spec §2.1).
	out.Value = plainInput + own + suffixes
	if _, err := expr.ParseInput(out.Value); err != nil {
		o.report.Errorf(in, badInput, "template %s has %s here, and the link %s: a default or a limit is set in one of them, not in both", o.uses[o.use], n.Value, given)
		return n
	}
	return &out
}

const plainInput = "<+input>"

// check checks fixed values against the limits that the template sets.
func (o *overlay) check(n *yamldoc.Node, in yamldoc.Value) {
	limits, err := expr.ParseInput(n.Value)
	if err != nil {
		return // reported where the template was saved
	}
	one := func(v yamldoc.Value) {
		if !v.Is(yamldoc.Scalar) || strings.Contains(v.Node.Value, "<+") {
			return
		}
		if err := limits.Check(v.Node.Value); err != nil {
			o.report.Errorf(v, badInput, "%s; template %s says so", err, o.uses[o.use])
		}
	}
	if !in.Is(yamldoc.Sequence) {
		one(in)
		return
	}
	for item := range o.report.List(in) {
		one(item)
	}
}

func (o *overlay) mapping(n *yamldoc.Node, in yamldoc.Value) *yamldoc.Node {
	out := n
	for e := range o.report.Mapping(in) {
		i := slices.IndexFunc(n.Entries, func(own yamldoc.Entry) bool { return own.Key == e.Key })
		if i < 0 {
			if !e.Null() {
				o.unknown(e)
			}
			continue
		}
		v := o.value(n.Entries[i].Value, e)
		if v == n.Entries[i].Value {
			continue
		}
		if out == n {
			out = cloned(n)
		}
		out.Entries[i].Value = v
		if v.File != n.Entries[i].Value.File { // key and value come from one file
			at := e.KeyPos(o.report)
			out.Entries[i].Line, out.Entries[i].Column = at.Line, at.Column
		}
	}
	return out
}

// sequence fills the items of a list: those that have an identity by it,
// wherever parallel blocks put them, the others by their place.
func (o *overlay) sequence(n *yamldoc.Node, in yamldoc.Value) *yamldoc.Node {
	given := map[string]yamldoc.Value{}
	var plain []yamldoc.Value
	o.collect(in, given, &plain)
	out := o.items(n, given, &plain)
	left := plain
	for item := range o.report.List(in) {
		o.leftover(item, given, &left)
	}
	for _, item := range left {
		o.unknown(item)
	}
	return out
}

func (o *overlay) collect(in yamldoc.Value, given map[string]yamldoc.Value, plain *[]yamldoc.Value) {
	for item := range o.report.List(in) {
		if block := parallel(item); block.Node != nil {
			o.collect(block, given, plain)
			continue
		}
		id := identity(item.Node)
		if _, twice := given[id]; id == "" || twice {
			*plain = append(*plain, item)
			continue
		}
		given[id] = item
	}
}

// items fills a list and takes what it used out of given and plain.
func (o *overlay) items(n *yamldoc.Node, given map[string]yamldoc.Value, plain *[]yamldoc.Value) *yamldoc.Node {
	out := n
	for i, item := range n.Items {
		v := item
		id := identity(item)
		in, ok := given[id]
		switch block := item.Get("parallel"); {
		case block != nil && block.Kind == yamldoc.Sequence && len(item.Entries) == 1:
			v = with(item, "parallel", o.items(block, given, plain))
		case id != "" && ok:
			delete(given, id)
			v = o.value(item, in)
		case id == "" && len(*plain) > 0:
			in, *plain = (*plain)[0], (*plain)[1:]
			v = o.value(item, in)
		}
		if v == item {
			continue
		}
		if out == n {
			out = cloned(n)
		}
		out.Items[i] = v
	}
	return out
}

// leftover reports the items that no item of the template is like.
func (o *overlay) leftover(item yamldoc.Value, given map[string]yamldoc.Value, _ *[]yamldoc.Value) {
	if block := parallel(item); block.Node != nil {
		for one := range o.report.List(block) {
			o.leftover(one, given, nil)
		}
		return
	}
	if _, left := given[identity(item.Node)]; left {
		o.unknown(item)
	}
}

func parallel(item yamldoc.Value) yamldoc.Value {
	block := item.Node.Get("parallel")
	if block == nil || block.Kind != yamldoc.Sequence || len(item.Node.Entries) != 1 {
		return yamldoc.Value{}
	}
	return yamldoc.Sub(block, item.Path+".parallel")
}

// identity is what an item of a list is known by, empty for none (pipeline
// spec §2.3).
func identity(item *yamldoc.Node) string {
	if item == nil || item.Kind != yamldoc.Mapping {
		return ""
	}
	if len(item.Entries) == 1 && item.Entries[0].Value != nil {
		if id := textOf(item.Entries[0].Value.Get("identifier")); id != "" {
			return item.Entries[0].Key + " " + id
		}
	}
	for _, key := range []string{"identifier", "name", "environmentRef", "serviceRef"} {
		if id := textOf(item.Get(key)); id != "" && !strings.Contains(id, plainInput) {
			return key + " " + id
		}
	}
	return ""
}
