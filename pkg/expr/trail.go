package expr

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Bounds of values that refer to values (semantics/pipeline §1.5). The second
// one stops what branches at every level.
const (
	maxTrail   = 25
	maxVisited = 10_000
)

// Trail is how a Scope got from one value to the next while it resolved a
// name, for Scopes whose values have expressions in them. The zero Trail
// (nil) is the start; each name that is being resolved gets a Trail of its
// own, so it needs no undoing:
//
//	inner, err := s.trail.Enter("pipeline.variables.a")
//	...
//	return expr.Interpolate(text, scope{trail: inner})
type Trail struct {
	name    string
	before  *Trail
	depth   int
	visited *int // by all Trails with the same start
}

// Enter goes on to a name. A name that is already on the way is a cycle; the
// error says it whole.
func (t *Trail) Enter(name string) (*Trail, error) {
	next := &Trail{name: name, before: t, depth: 1, visited: new(int)}
	if t != nil {
		next.depth, next.visited = t.depth+1, t.visited
	}
	for b := t; b != nil; b = b.before {
		if b.name == name {
			return nil, fault.New(fault.UnresolvedExpression, "values refer to each other in a circle: %s", next.since(b))
		}
	}
	if *next.visited++; next.depth > maxTrail || *next.visited > maxVisited {
		return nil, fault.New(fault.UnresolvedExpression, "values refer to each other too often (%d deep, %d in all); the last one is %s",
			next.depth, *next.visited, name)
	}
	return next, nil
}

// since lists the names from another Trail on.
func (t *Trail) since(from *Trail) string {
	var names []string
	for b := t; b != from.before; b = b.before {
		names = append(names, b.name)
	}
	for i, j := 0, len(names)-1; i < j; i, j = i+1, j-1 {
		names[i], names[j] = names[j], names[i]
	}
	return strings.Join(names, " -> ")
}
