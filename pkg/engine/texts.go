package engine

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Plan reads a plan by its hash.
func (h *Handler) Plan(ctx context.Context, hash string) (*plan.Plan, error) {
	return h.plan(ctx, hash)
}

// Texts are resolved texts by name. Secrets are placeholders in them; the
// maps say what each stands for.
type Texts struct {
	Texts       map[string]string
	Secrets     map[string]string // placeholder -> name of the secret
	PullSecrets map[string]task.PullSecret
}

// Resolve resolves the expressions of texts in the context of a step, such as
// values files that only its delegate has.
func (h *Handler) Resolve(ctx context.Context, execution string, node plan.NodeID, texts map[string]string) (Texts, error) {
	return h.texts(ctx, execution, node, texts, (*resolve.Scope).Text)
}

// ResolveKnown is Resolve for people, in the context of any node: what can't
// be resolved stays in a text as it was written (pipeline spec §3.5, item 4).
func (h *Handler) ResolveKnown(ctx context.Context, execution string, node plan.NodeID, texts map[string]string) (Texts, error) {
	return h.texts(ctx, execution, node, texts, func(s *resolve.Scope, text string) (string, error) {
		v, err := s.InterpolateKnown(text)
		return v.Text(), err
	})
}

func (h *Handler) texts(
	ctx context.Context, execution string, node plan.NodeID, texts map[string]string, one func(*resolve.Scope, string) (string, error),
) (Texts, error) {
	snap, err := h.snapshot(ctx, execution)
	if err != nil {
		return Texts{}, err
	}
	n := snap.plan.Node(node)
	if n == nil {
		return Texts{}, fault.New(fault.NotFound, "the plan has no node %s", node)
	}
	scope := h.scope(ctx, snap, n, snap.state)
	out := make(map[string]string, len(texts))
	for name, text := range texts {
		v, err := one(scope, text)
		if err != nil {
			return Texts{}, fault.New(fault.CodeOf(err), "%s: %w", name, err)
		}
		out[name] = v
	}
	if snap.err != nil {
		return Texts{}, fmt.Errorf("read states: %w", snap.err)
	}
	return Texts{Texts: out, Secrets: scope.Secrets(), PullSecrets: scope.PullSecrets()}, nil
}
