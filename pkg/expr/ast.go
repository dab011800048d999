package expr

// A node is a part of a parsed expression.
type node interface {
	pos() int // offset in the text
}

type (
	place int

	literal struct {
		place
		value Value
	}
	// template is a string literal with expressions in it.
	template struct {
		place
		pieces []piece
	}
	// path is a name that a Scope resolves. Either static or, if a segment
	// has expressions in it, segments is set.
	path struct {
		place
		end      int
		static   []string
		segments []segment
	}
	// call is a function: json.select(..), currentDate(). If nobody knows
	// space as a functor, it may be the name of a value with a method.
	call struct {
		place
		space string // "json", or "" for a plain function
		name  string
		args  []node
	}
	// field is x.name or x["name"] on a value that isn't a path.
	field struct {
		place
		on  node
		key segment
	}
	// element is x[i].
	element struct {
		place
		on, index node
	}
	// method is x.name(args); safe if written x?.name(args).
	method struct {
		place
		on   node
		name string
		safe bool
		args []node
	}
	unary struct {
		place
		op string
		x  node
	}
	binary struct {
		place
		op   string
		x, y node
	}
	ternary struct {
		place
		cond, yes, no node
	}
	list struct {
		place
		items []node
		set   bool // {a, b}: without duplicates
	}
	object struct {
		place
		keys, values []node
	}
)

func (p place) pos() int { return int(p) }

// piece is literal text or an expression in its place.
type piece struct {
	text string
	expr node
}

// segment is one name of a path. A quoted one may have dots in it; in others
// the text of a spliced expression is split at its dots
// (semantics/pipeline §3.2).
type segment struct {
	pieces []piece
	quoted bool
}

func (s segment) static() (string, bool) {
	if len(s.pieces) != 1 || s.pieces[0].expr != nil {
		return "", false
	}
	return s.pieces[0].text, true
}

// children lists the nodes directly below a node, in the order of the text.
func children(n node) []node {
	switch n := n.(type) {
	case *template:
		return expressions(n.pieces)
	case *path:
		var out []node
		for _, s := range n.segments {
			out = append(out, expressions(s.pieces)...)
		}
		return out
	case *call:
		return n.args
	case *field:
		return append([]node{n.on}, expressions(n.key.pieces)...)
	case *element:
		return []node{n.on, n.index}
	case *method:
		return append([]node{n.on}, n.args...)
	case *unary:
		return []node{n.x}
	case *binary:
		return []node{n.x, n.y}
	case *ternary:
		return []node{n.cond, n.yes, n.no}
	case *list:
		return n.items
	case *object:
		return append(append([]node{}, n.keys...), n.values...)
	}
	return nil
}

func expressions(pieces []piece) []node {
	var out []node
	for _, p := range pieces {
		if p.expr != nil {
			out = append(out, p.expr)
		}
	}
	return out
}
