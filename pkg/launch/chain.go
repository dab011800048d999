package launch

import (
	"cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// chained checks the pipelines that the Pipeline stages of a list run, and
// gives the scopes that they are in. A chained pipeline mustn't chain others.
func (b *build) chained(stages *yamldoc.Node) ([]ref.Scope, error) {
	var scopes []ref.Scope
	err := eachChain(stages, func(stage *yamldoc.Node) error {
		spec := stage.Get("spec")
		key := store.EntityKey{
			Scope: ref.Scope{Account: b.Scope.Account, Org: spec.Text("org"), Project: spec.Text("project")},
			Kind:  ref.Pipeline, ID: spec.Text("pipeline"),
		}
		e, err := b.Entities.Entity(b.ctx, key)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "stage %s: there is no pipeline %q in %s", stage.Text("identifier"), key.ID, key.Scope)
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
			return fault.New(fault.Invalid, "stage %s: pipeline %s can't be chained, because its stage %s chains another one", stage.Text("identifier"), key.ID, inner.Text("identifier"))
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
		if stage := item.Get("stage"); stage != nil && stage.Text("type") == plan.TypePipeline {
			if err := visit(stage); err != nil {
				return err
			}
		}
	}
	return nil
}

// Reach says whether whoever starts an execution may start what it chains.
func (r Request) Reach(p Planned) error {
	if len(p.chained) > 0 && r.Parent.Execution != "" {
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
