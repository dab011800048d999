package template

import (
	"strconv"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// place is where the walk is.
type place struct {
	path  string
	kind  Kind   // of the template that the node may be made of; empty: of none
	stage string // the type of the stage around it
	use   int    // the template that the walk is in
}

func (p place) below(key string, kind Kind) place {
	if p.path != "" {
		key = p.path + "." + key
	}
	p.path, p.kind = key, kind
	return p
}

func (p place) item(i int, kind Kind) place {
	p.path, p.kind = p.path+"["+strconv.Itoa(i)+"]", kind
	return p
}

// kindAt is the kind of template that the value of a key may be made of.
func kindAt(key string) Kind {
	switch key {
	case "step":
		return Step
	case "stepGroup":
		return StepGroup
	case "stage":
		return Stage
	}
	return ""
}

// itemsAt is the same for the items of a list.
func itemsAt(key string) Kind {
	switch key {
	case "sources":
		return ArtifactSource
	case "notificationRules":
		return Notification
	}
	return ""
}

// walk gives a part of the document without links. What has none is shared.
func (r *resolver) walk(n *yamldoc.Node, p place) *yamldoc.Node {
	switch {
	case n == nil || r.err != nil || r.full:
		return n
	case n.Kind == yamldoc.Mapping && p.kind != "" && linked(n):
		return r.expand(n, p)
	case n.Kind == yamldoc.Mapping:
		return r.mapping(n, p)
	}
	return n
}

func (r *resolver) mapping(n *yamldoc.Node, p place) *yamldoc.Node {
	if p.kind == Stage {
		p.stage = textOf(n.Get("type"))
	}
	out := n
	for i, e := range n.Entries {
		if e.Value == nil || e.Value.Kind != yamldoc.Mapping && e.Value.Kind != yamldoc.Sequence {
			continue
		}
		var v *yamldoc.Node
		if e.Value.Kind == yamldoc.Sequence {
			v = r.list(e.Value, p.below(e.Key, ""), itemsAt(e.Key))
		} else {
			v = r.walk(e.Value, p.below(e.Key, kindAt(e.Key)))
		}
		if v == e.Value {
			continue
		}
		if out == n {
			out = cloned(n)
		}
		out.Entries[i].Value = v
	}
	return out
}

func (r *resolver) list(n *yamldoc.Node, p place, kind Kind) *yamldoc.Node {
	out := n
	for i, item := range n.Items {
		var v *yamldoc.Node
		if item.Kind == yamldoc.Sequence {
			v = r.list(item, p.item(i, ""), "")
		} else {
			v = r.walk(item, p.item(i, kind))
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
