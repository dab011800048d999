package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/attest"
	"github.com/slipway-cd/slipway/pkg/execution"
)

// Attestations asks for what approvals are attested by.
type Attestations struct{ Client *Client }

// Of gives those of an execution's approvals.
func (a Attestations) Of(ctx context.Context, execution string) ([]execution.Attestation, error) {
	l, err := get[attestationList](ctx, a.Client, path("executions", execution, "attestations"), nil)
	return l.Attestations, err
}

type attestationList struct {
	Attestations []execution.Attestation `json:"attestations"`
}

// Keys gives the public keys by which they are verified.
func (a Attestations) Keys(ctx context.Context) (attest.Trusted, error) {
	return get[attest.Trusted](ctx, a.Client, path("attestations", "keys"), nil)
}
