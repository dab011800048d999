package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Fires lists what a pipeline's trigger did, newest first.
func (c *Client) Fires(ctx context.Context, scope ref.Scope, pipeline, trigger string, p Page) ([]api.Fire, string, error) {
	l, err := get[api.FireList](ctx, c, path("pipelines", pipeline, "triggers", trigger, "fires"), p.in(scoped(scope)))
	return l.Fires, l.NextPageToken, err
}
