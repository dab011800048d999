package apiclient

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// Inputs says what a run of a pipeline asks for.
func (c *Client) Inputs(ctx context.Context, scope ref.Scope, pipeline string) (api.PipelineInputs, error) {
	return get[api.PipelineInputs](ctx, c, path("pipelines", pipeline, "inputs"), scoped(scope))
}

// MergeInputs shows a pipeline with inputs as a run would have it.
func (c *Client) MergeInputs(ctx context.Context, scope ref.Scope, pipeline string, in api.StartExecution) (api.MergedInputs, error) {
	return post[api.MergedInputs](ctx, c, path("pipelines", pipeline, "inputs:merge"), scoped(scope), in)
}

// InputSets lists the input sets and overlays of a pipeline.
func (c *Client) InputSets(ctx context.Context, scope ref.Scope, pipeline string) ([]api.InputSet, error) {
	l, err := get[api.InputSetList](ctx, c, path("pipelines", pipeline, "input-sets"), scoped(scope))
	return l.InputSets, err
}

// ReconcileInputSet drops from an input set what its pipeline no longer has.
func (c *Client) ReconcileInputSet(ctx context.Context, scope ref.Scope, pipeline, id string, in api.Reconcile) (api.Reconciled, error) {
	return post[api.Reconciled](ctx, c, path("pipelines", pipeline, "input-sets", id, "reconcile"), scoped(scope), in)
}
