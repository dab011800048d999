package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Instances lists what runs where; empty names mean all.
func (c *Client) Instances(ctx context.Context, scope ref.Scope, service, environment string, p Page) ([]api.Placement, string, error) {
	query := p.in(scoped(scope))
	set(query, "service", service)
	set(query, "environment", environment)
	l, err := get[api.PlacementList](ctx, c, path("instances"), query)
	return l.Placements, l.NextPageToken, err
}

// InstanceHistory lists how a service's instances changed, newest first;
// environment "" means in all.
func (c *Client) InstanceHistory(ctx context.Context, scope ref.Scope, service, environment string, p Page) ([]api.Moment, string, error) {
	query := p.in(scoped(scope))
	set(query, "environment", environment)
	l, err := get[api.History](ctx, c, path("services", service, "instances", "history"), query)
	return l.Moments, l.NextPageToken, err
}
