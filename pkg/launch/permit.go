package launch

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// Permitted refuses a start if whoever it acts as may not use what the pipeline
// names, as far as that is known before it runs, or not run the pipelines that it
// chains. What a stage deploys where is asked about again when the stage begins
// (pkg/engine).
func (l *Launcher) Permitted(ctx context.Context, r Request, made Planned) error {
	if r.As == nil {
		return nil
	}
	who := l.grants.Caller(*r.As, access.ActorOf(r.As.Principal))
	if r.Trigger != nil || r.Parent.Execution != "" { // nobody has asked yet
		if err := who.Allow(ctx, action.PipelineRun, right.Resource{Scope: r.Scope, ID: r.Pipeline}); err != nil {
			return fault.Wrap(err, "run pipeline %s", r.Pipeline)
		}
	}
	names, err := l.names(ctx, r)
	if err != nil {
		return err
	}
	for _, key := range names {
		if err := who.Uses(ctx, key.Kind, ref.Ref{Scope: key.Scope, ID: access.Owner(key)}); err != nil {
			return fault.Wrap(err, "pipeline %s", r.Pipeline)
		}
	}
	p, err := plan.Decode(made.Doc)
	if err != nil {
		return fmt.Errorf("decode the plan of pipeline %s: %w", r.Pipeline, err)
	}
	for _, t := range targets(p.Root, r.pipeline()) {
		if err := who.Deploys(ctx, t.Service, t.Environment); err != nil {
			return fault.Wrap(err, "pipeline %s", r.Pipeline)
		}
	}
	return nil
}

// names are what a pipeline names by itself.
func (l *Launcher) names(ctx context.Context, r Request) ([]store.EntityKey, error) {
	pipeline, err := l.Store.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.Pipeline, ID: r.Pipeline})
	return pipeline.Refs, err
}
