// Package identity gives whoever logs in to a cloud the token that the control
// plane signs for the task, or the watch, for which it does so.
//
// The token comes through the context: logins are made deep inside of libraries,
// and again long after the task began. Keeping tokens fresh is delegate/agent's.
package identity

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// Source gives a token that is good for some minutes, by its identity's name.
type Source func(ctx context.Context, name string) (string, error)

type sourceKey struct{}

// With is a context for the work that a source's tokens are for.
func With(ctx context.Context, s Source) context.Context {
	return context.WithValue(ctx, sourceKey{}, s)
}

// Token is a token for what ctx is the context of.
func Token(ctx context.Context, name string) (string, error) {
	s, ok := ctx.Value(sourceKey{}).(Source)
	if !ok {
		return "", fault.New(fault.Unsupported, "nothing here has a token of the control plane")
	}
	return s(ctx, name)
}
