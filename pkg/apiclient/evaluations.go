package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Evaluations asks for what policies came to.
type Evaluations struct{ Client *Client }

// List lists what policies came to in a scope or, of an execution, in that one.
func (e Evaluations) List(ctx context.Context, scope ref.Scope, execution string, page Page) ([]policy.Evaluation, string, error) {
	q := page.in(scoped(scope))
	set(q, "execution", execution)
	l, err := get[policy.EvaluationList](ctx, e.Client, path("evaluations"), q)
	return l.Evaluations, l.NextPageToken, err
}

// Get gives one with what was asked about.
func (e Evaluations) Get(ctx context.Context, scope ref.Scope, id string) (policy.WithInput, error) {
	return get[policy.WithInput](ctx, e.Client, path("evaluations", id), scoped(scope))
}
