package engine

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Plan reads a plan by its hash.
func (r *Reader) Plan(ctx context.Context, hash string) (*plan.Plan, error) {
	return r.plans.read(ctx, hash)
}

// Texts are resolved texts by name. Secrets are placeholders in them; the
// maps say what each stands for.
type Texts struct {
	Texts       map[string]string
	Secrets     map[string]string // placeholder -> name of the secret
	LateSecrets map[string]task.LateSecret
	LateTexts   map[string]task.LateText
	Identities  map[string]identity.Identity // that the late secrets name
	// Named are the secrets behind the placeholders, also those that whoever
	// keeps a late one is asked with.
	Named []resolve.Named
}

// Resolve resolves the expressions of texts in the context of a step, such as
// values files that only its delegate has.
func (r *Reader) Resolve(ctx context.Context, execution string, node plan.NodeID, texts map[string]string) (Texts, error) {
	return r.texts(ctx, execution, node, texts, (*resolve.Scope).Text)
}

// ResolveKnown is Resolve for people, in the context of any node: what can't
// be resolved stays in a text as it was written (semantics/pipeline §3.5, item
// 4).
func (r *Reader) ResolveKnown(ctx context.Context, execution string, node plan.NodeID, texts map[string]string) (Texts, error) {
	return r.texts(ctx, execution, node, texts, func(s *resolve.Scope, text string) (string, error) {
		v, err := s.InterpolateKnown(text)
		return v.Text(), err
	})
}

// ResolveBlank is ResolveKnown with more names: what can't be resolved is an
// empty text.
func (r *Reader) ResolveBlank(
	ctx context.Context, execution string, node plan.NodeID, texts map[string]string, names map[string]expr.Value,
) (Texts, error) {
	return r.texts(ctx, execution, node, texts, func(s *resolve.Scope, text string) (string, error) {
		v, err := s.InterpolateBlank(text, names)
		return v.Text(), err
	})
}

// ResolveOutside is ResolveBlank, or ResolveKnown where blank is false, for
// what concerns a pipeline that doesn't run: its name, its variables and
// secrets have values, stages have none.
func (r *Reader) ResolveOutside(
	ctx context.Context, of store.EntityKey, pipeline *yamldoc.Node, texts map[string]string, names map[string]expr.Value, blank bool,
) (Texts, error) {
	p := plan.Outside(pipeline)
	scope := resolve.New(resolve.Config{
		Context: ctx, Plan: p, Node: p.Root, State: func(plan.NodeID) plan.State { return plan.State{} },
		Execution: store.Execution{Scope: of.Scope, Pipeline: of.ID}, Entities: r.store.Entities, Mail: r.mail, Now: r.now(),
	})
	out := make(map[string]string, len(texts))
	for name, text := range texts {
		v, err := scope.InterpolateKnown(text)
		if blank {
			v, err = scope.InterpolateBlank(text, names)
		}
		if err != nil {
			return Texts{}, fault.Wrap(err, "%s", name)
		}
		out[name] = v.Text()
	}
	return Texts{Texts: out, Secrets: scope.Secrets(), LateSecrets: scope.LateSecrets()}, nil
}

func (r *Reader) texts(
	ctx context.Context, execution string, node plan.NodeID, texts map[string]string, one func(*resolve.Scope, string) (string, error),
) (Texts, error) {
	snap, err := r.snapshot(ctx, execution)
	if err != nil {
		return Texts{}, err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return Texts{}, fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	scope := r.scope(ctx, snap, n, snap.state)
	out := make(map[string]string, len(texts))
	for name, text := range texts {
		v, err := one(scope, text)
		if err != nil {
			return Texts{}, fault.Wrap(err, "%s", name)
		}
		out[name] = v
	}
	for _, late := range scope.LateSecrets() {
		if late.Token != "" {
			return Texts{}, fault.New(fault.Invalid, "<+oidc.token(..)> is in a text that isn't the step's own; only what the step's document says has tokens")
		}
	}
	named := scope.Named()
	if snap.err != nil {
		return Texts{}, fmt.Errorf("read states: %w", snap.err)
	}
	return Texts{Texts: out, Secrets: scope.Secrets(), LateSecrets: scope.LateSecrets(), LateTexts: scope.LateTexts(), Identities: scope.Identities(), Named: named}, nil
}
