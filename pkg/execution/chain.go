package execution

import (
	"cmp"
	"context"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// StartChained starts the execution of a pipeline for a Pipeline stage of
// another one (semantics/pipeline §1.7). It fits engine.Config.StartChained.
func (s *Service) StartChained(ctx context.Context, c engine.Chained) (store.Execution, error) {
	r := StartRequest{
		Scope: c.Scope, Pipeline: c.Pipeline, By: audit.Author{Actor: c.Actor},
		Inputs: Inputs{Sets: c.Sets, Document: c.Inputs}, parent: c.Parent, id: c.ID,
	}
	return s.Start(ctx, r)
}

// chained checks the pipelines that the Pipeline stages of a list run, and
// gives the scopes that they are in. A chained pipeline mustn't chain others.
func (b *build) chained(stages *yamldoc.Node) ([]ref.Scope, error) {
	var scopes []ref.Scope
	err := eachChain(stages, func(stage *yamldoc.Node) error {
		spec := stage.Get("spec")
		key := store.EntityKey{
			Scope: ref.Scope{Account: b.Scope.Account, Org: text(spec, "org"), Project: text(spec, "project")},
			Kind:  ref.Pipeline, ID: text(spec, "pipeline"),
		}
		e, err := b.Entities.Entity(b.ctx, key)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "stage %s: there is no pipeline %q in %s", text(stage, "identifier"), key.ID, key.Scope)
		}
		if err != nil {
			return err
		}
		doc, err := target.Root("pipeline "+key.ID, e)
		if err != nil {
			return err
		}
		scopes = append(scopes, key.Scope)
		return eachChain(doc.At("pipeline", "stages"), func(inner *yamldoc.Node) error {
			return fault.New(fault.Invalid, "stage %s: pipeline %s can't be chained, because its stage %s chains another one", text(stage, "identifier"), key.ID, text(inner, "identifier"))
		})
	})
	return scopes, err
}

// eachChain visits the Pipeline stages of a list.
func eachChain(stages *yamldoc.Node, visit func(*yamldoc.Node) error) error {
	if stages == nil {
		return nil
	}
	for _, item := range stages.Items {
		if inner := cmp.Or(item.Get("parallel"), item.At("insert", "stages")); inner != nil {
			if err := eachChain(inner, visit); err != nil {
				return err
			}
		}
		if stage := item.Get("stage"); stage != nil && text(stage, "type") == plan.TypePipeline {
			if err := visit(stage); err != nil {
				return err
			}
		}
	}
	return nil
}

// reach says whether whoever starts an execution may start what it chains.
func (r StartRequest) reach(p planned) error {
	if len(p.chained) > 0 && r.parent.Execution != "" {
		return fault.New(fault.Invalid, "pipeline %s can't be chained, because it chains another one", r.Pipeline)
	}
	within := r.Within
	if within.Account == "" {
		within = r.Scope
	}
	for _, scope := range p.chained {
		if !within.Covers(scope) {
			return fault.New(fault.Forbidden, "the pipeline chains one in %s, and whoever starts it may only touch %s", scope, within)
		}
	}
	return nil
}
