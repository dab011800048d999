package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// withPulls adds to a task's secrets those that pull images, made with the
// task's own. All of them are masked from now on.
func (e *environment) withPulls(ctx context.Context, secrets map[string]string, pulls map[string]task.PullSecret) (map[string]string, error) {
	if len(pulls) == 0 {
		return secrets, nil
	}
	if e.agent.PullSecret == nil {
		return nil, fault.New(fault.Unsupported, "delegate %s can't make image pull secrets", e.agent.Name)
	}
	all := maps.Clone(secrets)
	if all == nil {
		all = map[string]string{}
	}
	for placeholder, p := range pulls {
		made, err := e.pull(ctx, secrets, p)
		if err != nil {
			return nil, fault.New(fault.CodeOf(err), "make the pull secret of %s: %w", p.Registry, err)
		}
		e.mask(made.Value)
		e.mask(made.Parts...)
		all[placeholder] = made.Value
	}
	return all, nil
}

// pull makes one, once the secrets that it is made of are in their places.
func (e *environment) pull(ctx context.Context, secrets map[string]string, p task.PullSecret) (pullsecret.Secret, error) {
	doc, err := json.Marshal(p) //nolint:gosec // it stays in this process
	if err != nil {
		return pullsecret.Secret{}, fmt.Errorf("encode: %w", err)
	}
	if doc, err = reveal(doc, secrets); err != nil {
		return pullsecret.Secret{}, err
	}
	var open task.PullSecret
	if err := json.Unmarshal(doc, &open); err != nil {
		return pullsecret.Secret{}, fmt.Errorf("decode: %w", err)
	}
	return e.agent.PullSecret(ctx, open)
}
