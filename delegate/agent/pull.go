package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/identity"
	"github.com/slipway-cd/slipway/delegate/pullsecret"
	"github.com/slipway-cd/slipway/delegate/secretmanager"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// withLate adds to a task's secrets those that the delegate makes, with the
// task's own. All of them are masked from now on.
func (e *environment) withLate(ctx context.Context, secrets map[string]string, late map[string]task.LateSecret) (map[string]string, error) {
	return e.agent.made(ctx, secrets, late, e.mask)
}

// made adds to secrets those that are made with them: first what is fetched,
// for what pulls images may be made of that.
func (a *Agent) made(
	ctx context.Context, secrets map[string]string, late map[string]task.LateSecret, mask func(...string),
) (map[string]string, error) {
	if len(late) == 0 {
		return secrets, nil
	}
	all := extended(secrets)
	for _, fetched := range []bool{true, false} {
		for placeholder, p := range late {
			if (p.Fetched != nil) != fetched {
				continue
			}
			one, err := a.make(ctx, all, p)
			if err != nil {
				return nil, err
			}
			mask(one.Value)
			mask(one.Parts...)
			all[placeholder] = one.Value
		}
	}
	return all, nil
}

// make makes one, once the secrets that it is made of are in their places.
func (a *Agent) make(ctx context.Context, secrets map[string]string, p task.LateSecret) (pullsecret.Secret, error) {
	open, err := revealed(p, secrets)
	if err != nil {
		return pullsecret.Secret{}, err
	}
	if open.Fetched != nil {
		value, err := a.fetch(ctx, *open.Fetched)
		if err != nil {
			return pullsecret.Secret{}, fault.Wrap(err, "fetch the secret %s", p.Fetched.Name)
		}
		return pullsecret.Secret{Value: value}, nil
	}
	if open.Token != "" {
		value, err := identity.Token(ctx, open.Token)
		return pullsecret.Secret{Value: value}, err
	}
	if open.Pull == nil || a.PullSecret == nil {
		return pullsecret.Secret{}, fault.New(fault.Unsupported, "delegate %s can't make image pull secrets", a.Name)
	}
	one, err := a.PullSecret(ctx, *open.Pull)
	if err != nil {
		return one, fault.Wrap(err, "make the pull secret of %s", p.Pull.Registry)
	}
	return one, nil
}

// fetch gets a secret from where it is kept. What its script says goes
// nowhere: the value could be in it before anybody knows what to mask.
func (a *Agent) fetch(ctx context.Context, f task.FetchedSecret) (string, error) {
	if f.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, f.Timeout, fault.New(fault.Unavailable, "its manager took longer than %s", f.Timeout).Causing(fault.Timeout))
		defer stop()
	}
	if f.AWS != nil || f.Vault != nil {
		return secretmanager.Fetch(ctx, f)
	}
	if f.Script == nil {
		return "", fault.New(fault.Unsupported, "delegate %s doesn't know how; it may be older than the control plane", a.Name)
	}
	run := a.Kinds[task.KindShell].Do
	if run == nil {
		return "", fault.New(fault.Unsupported, "delegate %s runs no scripts", a.Name)
	}
	payload, err := json.Marshal(f.Script)
	if err != nil {
		return "", fmt.Errorf("encode its script: %w", err)
	}
	dir, clean := a.scratch()
	env := executor.Env{Writer: func(string, executor.Level) io.Writer { return io.Discard }, Mask: func(...string) {}, Dir: dir}
	r, err := guarded(ctx, run, task.Assignment{Kind: task.KindShell, Payload: payload}, env)
	if cleaned := clean(); err == nil && cleaned != nil {
		err = fmt.Errorf("remove a scratch directory: %w", cleaned)
	}
	switch value := r.SecretOutputs["output.outputVariables.secret"]; {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		return "", err
	case r.Status != task.Succeeded:
		return "", fault.New(fault.Invalid, "%s", cmp.Or(r.Message, "its script failed")).Causing(r.FailureTypes...)
	case value == "":
		return "", fault.New(fault.Invalid, "its script hasn't set the variable secret").Causing(fault.Unknown)
	default:
		return value, nil
	}
}
