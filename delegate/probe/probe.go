// Package probe tests connectors: whether the host of each is known, can be
// reached and is who it says it is, and whether it lets the connector in
// (semantics/entities §9).
//
// It changes nothing anywhere. What is asked of whom the control plane has
// resolved; clients of more than one request are those that steps use.
package probe

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
)

// Unit is the command unit of the log.
const Unit = "Test"

// Config is what the executor needs.
type Config struct {
	// Via is how requests are sent; nil: over connections of their own.
	Via http.RoundTripper
	// Patience is how long a host may take for each of connecting, its certificate
	// and an answer; 0: 10 s.
	Patience time.Duration
	Git      *gitfetch.Fetcher
	Script   executor.Executor // runs scripts
	// AWS reaches AWS's configuration, such as an endpoint.
	AWS []func(*config.LoadOptions) error
}

const (
	defaultPatience = 10 * time.Second
	// longest is how long a test takes at most. It ends before its task's time is
	// up, so that what took so long can be told.
	longest = 40 * time.Second
)

// New makes the executor.
func New(cfg Config) executor.Executor {
	if cfg.Patience == 0 {
		cfg.Patience = defaultPatience
	}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[probe.Spec](a)
		if err != nil {
			return task.Result{}, err
		}
		within, stop := context.WithTimeout(ctx, longest)
		defer stop()
		x := newExam(cfg, a, env)
		x.take(within, p)
		if ctx.Err() != nil { // the test was stopped, not the host slow
			return task.Result{}, context.Cause(ctx)
		}
		return executor.Succeed(map[string]any{"test": x.found()})
	}
}

// take makes the checks of a payload.
func (x *exam) take(ctx context.Context, p probe.Spec) {
	switch {
	case p.Cluster != nil:
		x.cluster(ctx, *p.Cluster)
	case p.Git != nil:
		x.git(ctx, *p.Git)
	case p.Registry != nil:
		x.registry(ctx, *p.Registry)
	case p.Charts != nil:
		x.charts(ctx, *p.Charts)
	case p.Requests != nil:
		x.requests(ctx, *p.Requests)
	case p.AWS != nil:
		x.aws(ctx, *p.AWS)
	case p.Google != nil:
		x.google(ctx, *p.Google)
	case p.Azure != nil:
		x.azure(ctx, *p.Azure)
	case p.Vault != nil:
		x.vault(ctx, *p.Vault)
	case p.Script != nil:
		x.script(ctx, *p.Script)
	case p.Untested != "":
		x.doubt(probe.CheckConfiguration, "%s", p.Untested)
	default:
		x.doubt(probe.CheckConfiguration, "this delegate doesn't know how to test a %s; it may be older than the control plane", p.Connector)
	}
}
