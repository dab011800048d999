// Package secretmanager fetches secrets from where they are kept: from AWS
// Secrets Manager and from the key-value engines of HashiCorp Vault
// (semantics/entities §10).
//
// It reads alone, keeps nothing and masks nothing. Secrets that a script
// fetches are the agent's.
package secretmanager

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Fetch gives a secret's value. options reach AWS's configuration, such as an
// endpoint.
func Fetch(ctx context.Context, f task.FetchedSecret, options ...func(*config.LoadOptions) error) (string, error) {
	switch {
	case f.AWS != nil:
		return fetchAWS(ctx, *f.AWS, options...)
	case f.Vault != nil:
		return fetchVault(ctx, *f.Vault)
	}
	return "", fault.New(fault.Unsupported, "nothing says where it is kept")
}

// part is the value under a key of a document: of a key as it is, else of a
// path with dots.
func part(doc expr.Value, key string) (string, error) {
	v, ok := doc.Field(key)
	if !ok {
		var err error
		if v, err = expr.Select(key, doc); err != nil {
			return "", err
		}
	}
	if v.IsNull() {
		return "", fault.New(fault.NotFound, "it has no key %q", key).Causing(fault.Unknown)
	}
	return v.Text(), nil
}
