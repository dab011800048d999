package secret

import (
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// kindOutput is the kind of the key of a secret output. No entity has it.
const kindOutput ref.Kind = "output"

// Name names a secret for Reveal, e.g. "secret:acme/default/web:token".
// Whoever else handles it should treat it as opaque.
func Name(r ref.Ref) string { return name(secretKey(r)) }

func secretKey(r ref.Ref) store.EntityKey {
	return store.EntityKey{Scope: r.Scope, Kind: ref.Secret, ID: r.ID}
}

func name(key store.EntityKey) string {
	return string(key.Kind) + ":" + key.Scope.String() + ":" + key.ID
}

func parseName(name string) (store.EntityKey, error) {
	kind, rest, _ := strings.Cut(name, ":")
	scope, id, found := strings.Cut(rest, ":")
	parts := strings.Split(scope, "/")
	known := kind == string(ref.Secret) || kind == string(kindOutput)
	if !known || !found || id == "" || len(parts) > 3 {
		return store.EntityKey{}, fmt.Errorf("%q isn't the name of a secret; want kind:scope:id", name)
	}
	parts = append(parts, "", "")
	return store.EntityKey{
		Scope: ref.Scope{Account: parts[0], Org: parts[1], Project: parts[2]}, Kind: ref.Kind(kind), ID: id,
	}, nil
}

// ScopeOf is the scope that a secret of the given name belongs to.
func ScopeOf(name string) (ref.Scope, error) {
	key, err := parseName(name)
	return key.Scope, err
}

// describe names a value for people.
func describe(key store.EntityKey) string {
	if key.Kind == kindOutput {
		return fmt.Sprintf("secret output %q in %s", key.ID, key.Scope)
	}
	return fmt.Sprintf("secret %q in %s", key.ID, key.Scope)
}
