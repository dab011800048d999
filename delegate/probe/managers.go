package probe

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/delegate/secretmanager"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// vault logs in to Vault, and asks whether there is the engine.
func (x *exam) vault(ctx context.Context, v task.VaultSecret) {
	s := task.Server{URL: v.URL, Auth: task.AuthBearer}
	session, err := secretmanager.OpenVault(ctx, v, x.net)
	var status *restapi.StatusError
	switch {
	case x.broken():
		return
	case errors.As(err, &status) && (status.Status == http.StatusBadRequest || status.Status == http.StatusForbidden):
		x.fail(probe.CheckLogin, "Vault doesn't let the connector in (%s); correct the token, or the role and its secret id", status)
		return
	case errors.As(err, &status):
		x.answered(s, status.Method+" "+status.Path, status.Status, false)
		return
	case err != nil:
		x.fail(probe.CheckLogin, "%s", err)
		return
	}
	x.pass(probe.CheckLogin, "Vault lets the connector in, with the policies %v", session.Policies)
	engine, err := session.EngineVersion(ctx)
	switch {
	case x.broken():
	case errors.As(err, &status) && status.Status == http.StatusForbidden:
		x.lack("no policy of the token is for the engine %s, or there is none of that name: its secrets can't be read", v.Engine)
	case err != nil:
		x.doubt(probe.CheckPermission, "whether there is the engine %s can't be found out: %s", v.Engine, err)
	case engine != v.Version:
		x.fail(probe.CheckConfiguration, "the engine %s is of version %d; the connector's secretEngineVersion is %d", v.Engine, engine, v.Version)
	default:
		x.pass(probe.CheckPermission, "the engine %s is of version %d", v.Engine, engine)
	}
}

// script runs the script of a secret manager, for whatever secret its inputs
// name by themselves. What it says goes nowhere: the value could be in it.
func (x *exam) script(ctx context.Context, s task.Shell) {
	payload, err := json.Marshal(s)
	if err != nil {
		x.fail(probe.CheckConfiguration, "%s", err)
		return
	}
	a := x.task
	a.Kind, a.Payload = task.KindShell, payload
	env := executor.Env{
		Writer: func(string, executor.Level) io.Writer { return io.Discard }, Mask: x.env.Mask, Dir: x.env.Dir, Resolve: x.env.Resolve, Files: x.env.Files,
	}
	r, err := x.cfg.Script(ctx, a, env)
	value := r.SecretOutputs["output.outputVariables.secret"]
	if value != "" {
		x.env.Mask(value)
	}
	switch {
	case late(ctx, err):
		x.fail(probe.CheckAnswer, "the manager's script took longer than %s", longest)
	case err != nil:
		x.fail(probe.CheckConfiguration, "the manager's script: %s", err)
	case r.Status != task.Succeeded:
		x.fail(probe.CheckLogin, "the manager's script: %s", cmp.Or(r.Message, "it failed"))
	default:
		x.pass(probe.CheckLogin, "the manager's script gives a secret")
	}
}
