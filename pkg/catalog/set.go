package catalog

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
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
		there[keyOf(e)] = true
		if e.Kind == ref.Template {
			there[stableKey(ref.Ref{Scope: e.Scope, ID: e.Identifier.Value})] = true
		}
	}
	var out []Unmet
	for _, e := range entities {
		for _, r := range e.References {
			if key := keyOfReference(r); !exists(key) && !there[key] {
				out = append(out, Unmet{Entity: e, Reference: r, Key: key})
			}
		}
	}
	return out
}
