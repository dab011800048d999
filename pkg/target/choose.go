package target

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Stage is a stage that finds only when it begins what it deploys where, or the
// loop around it.
type Stage struct {
	Reader // of what it names

	Plan  *plan.Plan
	Node  *plan.Node
	Doc   *yamldoc.Node // the node's, with what people have answered
	State func(plan.NodeID) plan.State
	// Names give the expressions in what it names their values; more are names
	// beside the node's own.
	Names func(more map[string]expr.Value) expr.Scope
}

// interpolate resolves a text.
func (s *Stage) interpolate(text string) (expr.Value, error) {
	return expr.Interpolate(text, s.Names(nil))
}

// Choose finds what the stage deploys where (semantics/entities §5).
func (s *Stage) Choose(ctx context.Context) (*plan.Deployment, error) {
	c, err := s.choice(ctx)
	if err != nil {
		return nil, err
	}
	d, err := s.Deployment(ctx, c)
	if err != nil {
		return nil, err
	}
	return d, small(d)
}

// maxBytes bounds the documents of what a stage has chosen, which are kept in
// its state.
const maxBytes = 256 << 10

func small(d *plan.Deployment) error {
	doc, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode what is deployed: %w", err)
	}
	if len(doc) > maxBytes {
		return fault.New(fault.TooLarge, "service, environment and infrastructure have %d bytes together; the limit is %d", len(doc), maxBytes)
	}
	return nil
}

// choice is what the stage names, its expressions resolved.
func (s *Stage) choice(ctx context.Context) (plan.Choice, error) {
	if loop, postfix := s.Node.Looped(); loop != nil && loop.Loop.Deploys && loop == s.Node.Parent() {
		it := s.State(loop.ID).Iterations.Of(postfix)
		if it == nil || it.Choice == nil {
			return plan.Choice{}, fmt.Errorf("%s isn't one of its stage's deployments", s.Node.ID)
		}
		return *it.Choice, nil
	}
	w, err := s.wanted(s.Doc)
	if err != nil {
		return plan.Choice{}, err
	}
	c, one := w.one()
	if !one {
		return c, fault.New(fault.Invalid, "the stage doesn't name one service, one environment and one infrastructure of it")
	}
	if c.GitOps != nil {
		x := expansion{Stage: s, ctx: ctx}
		found, err := x.narrow(&c, w.environments[0].filters)
		if err == nil && !found {
			err = noCluster()
		}
		return c, err
	}
	for _, p := range []struct {
		what string
		ref  *string
	}{
		{"serviceRef", &c.Service.Ref}, {"environmentRef", &c.Environment.Ref},
		{"the infrastructure's identifier", &c.Infrastructure.Ref},
	} {
		if *p.ref, err = s.name(*p.ref); err != nil {
			return c, fault.Wrap(err, "%s", p.what)
		}
	}
	return c, nil
}

// name is an identifier as it is written, or as an expression gives it.
func (s *Stage) name(written string) (string, error) {
	v, err := s.interpolate(written)
	switch {
	case err != nil:
		return "", err
	case v.Secret():
		return "", fault.New(fault.Invalid, "%s is a secret, which can't choose what is deployed", written)
	case v.Kind() != expr.KindString:
		return "", fault.New(fault.Invalid, "%s is %s; want an identifier", written, v.Kind())
	case v.Text() == "":
		return "", fault.New(fault.Invalid, "%s is empty; want an identifier", written)
	}
	return v.Text(), nil
}
