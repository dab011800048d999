package mirror

import (
	"context"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Set reads a set that isn't saved, for an agent that there is.
func (m *Mirror) Set(ctx context.Context, key store.EntityKey, text []byte) (*appset.Set, error) {
	agent, ok := agentOf(key)
	if !ok {
		return nil, fault.New(fault.Invalid, "%s has no agent", key.Describe())
	}
	if _, err := m.Store.Entity(ctx, AgentKey(agent)); err != nil {
		return nil, err
	}
	docs, report := yamldoc.Parse("", text)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, fault.New(fault.Invalid, "found %d documents; want one application set", len(docs))
	}
	o := m.Options
	o.Scope, o.Agent, o.Identifier = key.Scope, key.Env, key.ID
	read := entity.Decode(docs[0], report, o)
	if err := report.Err(); err != nil {
		return nil, err
	}
	if read.Kind != ref.GitOpsApplicationSet {
		return nil, fault.New(fault.Invalid, "found a document of the kind %s; want an application set", read.Kind)
	}
	return read.ApplicationSet, nil
}
