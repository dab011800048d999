package execution

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/launch"
	"github.com/slipway-cd/slipway/pkg/store"
)

// StartChained starts the execution of a pipeline for a Pipeline stage of
// another one (semantics/pipeline §1.7). It fits engine.Config.StartChained.
func (s *Service) StartChained(ctx context.Context, c engine.Chained) (store.Execution, error) {
	r := launch.Request{
		Scope: c.Scope, Pipeline: c.Pipeline, By: audit.Author{Actor: c.Actor},
		Inputs: launch.Inputs{Sets: c.Sets, Document: c.Inputs}, Parent: c.Parent, ID: c.ID, Inherited: c.Override, As: c.As,
	}
	return s.Launch.Start(ctx, r)
}
