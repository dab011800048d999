package target

import (
	"context"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/input"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// overrides are those of a deployment, from those that win least to those that
// win most: by type, and within one by scope (semantics/entities §8).
func (r *Reader) overrides(ctx context.Context, c plan.Choice) ([]plan.Override, error) {
	env, err := ref.Parse(c.Environment.Ref, r.Scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "environment %w", err)
	}
	service, err := ref.Parse(c.Service.Ref, r.Scope)
	if err != nil {
		return nil, fault.New(fault.Invalid, "service %w", err)
	}
	var out []plan.Override
	for _, typ := range entity.OverrideTypes() {
		if c.GitOps != nil && strings.HasPrefix(typ, "INFRA_") {
			continue // they name a definition
		}
		for _, o := range r.candidates(typ, env, service, c.Infrastructure.Ref) {
			one, err := r.override(ctx, o, typ, c)
			if err != nil {
				return nil, err
			}
			if one != nil {
				out = append(out, *one)
			}
		}
	}
	return out, nil
}

// candidates are where overrides of a type may be: those of version 1 first,
// then those of the account, of the organization and of the project, if these
// scopes can name what is overridden.
func (r *Reader) candidates(typ string, env, service ref.Ref, infrastructure string) []store.EntityKey {
	var keys []store.EntityKey
	for _, scope := range scopes(r.Scope) {
		named, infra := "", ""
		if strings.Contains(typ, "_SERVICE_") {
			if named = service.Text(scope); !service.Scope.Covers(scope) {
				continue
			}
		}
		if strings.HasPrefix(typ, "INFRA_") {
			infra = infrastructure
		}
		if !env.Scope.Covers(scope) {
			continue
		}
		keys = append(keys, store.EntityKey{Scope: scope, Kind: ref.Overrides, Env: env.Text(scope), ID: entity.OverrideID(named, infra)})
	}
	if typ != entity.EnvService {
		return keys
	}
	old := make([]store.EntityKey, len(keys))
	for i, key := range keys {
		old[i] = key
		old[i].Kind = ref.ServiceOverrides
	}
	return append(old, keys...)
}

// scopes are those around a scope and itself, the widest first.
func scopes(s ref.Scope) []ref.Scope {
	out := []ref.Scope{{Account: s.Account}}
	if s.Org != "" {
		out = append(out, ref.Scope{Account: s.Account, Org: s.Org})
	}
	if s.Project != "" {
		out = append(out, s)
	}
	return out
}

// override reads overrides and fills their inputs; nil if there are none.
func (r *Reader) override(ctx context.Context, key store.EntityKey, typ string, c plan.Choice) (*plan.Override, error) {
	e, err := r.Entities.Entity(ctx, key)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := r.Document(ctx, e)
	if err != nil {
		return nil, err
	}
	var given *yamldoc.Node
	switch typ {
	case entity.EnvGlobal:
		given = c.Environment.Inputs.Get("overrides")
	case entity.EnvService:
		given = c.Overrides
	}
	merged := input.Merge(overriding(doc), nil, input.Source{Doc: given, Lenient: true})
	r.Warnings = append(r.Warnings, merged.Warnings...)
	if err := merged.Err(); err != nil {
		return nil, fault.New(fault.Invalid, "%s %s of environment %s: %w", key.Kind, key.ID, key.Env, err)
	}
	return &plan.Override{Type: typ, Scope: key.Scope, Doc: merged.Doc}, nil
}

// overriding is what a document overrides, which stands in it or below spec.
func overriding(doc *yamldoc.Node) *yamldoc.Node {
	out := &yamldoc.Node{Kind: yamldoc.Mapping, Line: doc.Line, Column: doc.Column}
	for _, from := range []*yamldoc.Node{doc, doc.Get("spec")} {
		for _, e := range from.Pairs() {
			key := e.Key
			if key == "variableOverrides" {
				key = "variables"
			}
			switch key {
			case "variables", "manifests", "configFiles":
				e.Key = key
				out.Entries = append(out.Entries, e)
			}
		}
	}
	return out
}
