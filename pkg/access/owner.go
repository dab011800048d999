package access

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Owner is the identifier that resource groups name for a document: its own, or
// that of what it belongs to. A template's has no version.
func Owner(key store.EntityKey) string {
	if parent := ref.Parent(key.Kind); parent == ref.Environment || parent == ref.Pipeline {
		return key.Env
	}
	id, _, _ := strings.Cut(key.ID, "@")
	return id
}
