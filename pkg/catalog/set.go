package catalog

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/templatestore"
)

// Unmet is a reference to what isn't there.
type Unmet struct {
	Entity    *entity.Entity // that refers
	Reference entity.Reference
	Key       store.EntityKey // where the missing one would be
}

// Unknown lists the references of entities to what isn't one of them. It is
// for documents that nobody has saved yet, so it needs no store.
func Unknown(entities []*entity.Entity) []Unmet {
	there := map[store.EntityKey]bool{}
	for _, e := range entities {
		there[KeyOf(e)] = true
		if e.Kind == ref.Template {
			there[templatestore.StableKey(ref.Ref{Scope: e.Scope, ID: e.Identifier.Value})] = true
		}
	}
	var out []Unmet
	for _, e := range entities {
		for _, r := range e.References {
			key := keyOfReference(r)
			one := Unmet{Entity: e, Reference: r, Key: key}
			if again := len(out) > 0 && out[len(out)-1] == one; !exists(key) && !there[key] && !again { // a text may name it twice
				out = append(out, one)
			}
		}
	}
	return out
}

// Repeated gives, for each entity that has the name of one before it in the
// list, the index of that one. Only one of them could be saved.
func Repeated(entities []*entity.Entity) map[int]int {
	out := map[int]int{}
	first := map[store.EntityKey]int{}
	for i, e := range entities {
		if e == nil || e.Identifier.Value == "" {
			continue
		}
		key := KeyOf(e)
		if before, ok := first[key]; ok {
			out[i] = before
		} else {
			first[key] = i
		}
	}
	return out
}
