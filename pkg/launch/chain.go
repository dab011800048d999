package launch

import (
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/target"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// chained checks the pipelines that Pipeline stages run, and gives the scopes
// that they are in. A chained pipeline mustn't chain others.
func (b *build) chained(stages []*entity.Stage) ([]ref.Scope, error) {
	var scopes []ref.Scope
	for _, s := range stages {
		if s.Chain == nil {
			continue
		}
		key := store.EntityKey{
			Scope: ref.Scope{Account: b.Scope.Account, Org: s.Chain.Org.Text, Project: s.Chain.Project.Text},
			Kind:  ref.Pipeline, ID: s.Chain.Pipeline.Text,
		}
		e, err := b.Entities.Entity(b.ctx, key)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "stage %s: there is no pipeline %q in %s", s.Identifier.Text, key.ID, key.Scope)
		}
		if err != nil {
			return nil, err
		}
		doc, err := target.Root("pipeline "+key.ID, e)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, key.Scope)
		other := entity.Decode(doc, yamldoc.NewReport(""), entity.Options{Scope: key.Scope, Types: b.options.Types})
		for _, inner := range other.Pipeline.Stages.All() {
			if inner.Chain != nil {
				return nil, fault.New(fault.Invalid, "stage %s: pipeline %s can't be chained, because its stage %s chains another one", s.Identifier.Text, key.ID, inner.Identifier.Text)
			}
		}
	}
	return scopes, nil
}

// Reach says whether whoever starts an execution may start what it chains.
func (r Request) Reach(p Planned) error {
	if len(p.chained) > 0 && r.Parent.Execution != "" {
		return fault.New(fault.Invalid, "pipeline %s can't be chained, because it chains another one", r.Pipeline)
	}
	within := r.within()
	for _, scope := range p.chained {
		if !within.Covers(scope) {
			return fault.New(fault.Forbidden, "the pipeline chains one in %s, and whoever starts it may only touch %s", scope, within)
		}
	}
	return nil
}

// within is what whoever starts an execution may touch.
func (r Request) within() ref.Scope {
	if r.Within.Account == "" {
		return r.Scope
	}
	return r.Within
}
