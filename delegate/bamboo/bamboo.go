// Package bamboo runs plans of Bamboo over its REST API and follows their
// builds (semantics/pipeline §7.12).
//
// A build whose task is cancelled or out of time is stopped. One whose
// delegate ends goes on in Bamboo; nobody follows it any more.
package bamboo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Unit is the command unit of the log.
const Unit = "Execute"

const api = "/rest/api/latest"

// New makes the executor. Requests are sent over t; nil is a transport with
// net/http's defaults.
func New(t http.RoundTripper) executor.Executor {
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		p, err := executor.Payload[task.Bamboo](a)
		if err != nil {
			return task.Result{}, err
		}
		b := &session{client: restapi.New(p.Server, t), env: env, task: p}
		r, err := b.run(ctx)
		if err != nil {
			fmt.Fprintln(env.LogError(Unit), err)
			b.stop(ctx)
			return executor.Fail(fault.Failures(err), "%s", err), nil
		}
		return r, nil
	}
}

// session is one run of a plan.
type session struct {
	client *restapi.Client
	env    executor.Env
	task   task.Bamboo
	key    string // of the build's result; empty: not queued yet
	state  string // the last that was logged
}

func (b *session) logf(format string, args ...any) {
	fmt.Fprintf(b.env.Log(Unit), format+"\n", args...)
}

// build is what Bamboo says of a build.
type build struct {
	BuildNumber    int
	LifeCycleState string // Pending, Queued, InProgress, Finished or NotBuilt
	BuildState     string // Successful, Failed or Unknown
}

func (b *session) run(ctx context.Context) (task.Result, error) {
	form := url.Values{"executeAllStages": {"true"}}
	for _, p := range b.task.Parameters {
		form.Set("bamboo.variable."+p.Name, p.Value)
	}
	var queued struct{ BuildResultKey string }
	r := restapi.Request{Method: http.MethodPost, Path: api + "/queue/" + url.PathEscape(b.task.Plan), Query: form}
	if err := b.client.JSON(ctx, r, &queued); err != nil {
		return task.Result{}, err
	}
	b.key = queued.BuildResultKey
	b.logf("Queued plan %s as %s: %s", b.task.Plan, b.key, b.link())
	for {
		got, err := b.look(ctx)
		if err != nil {
			return task.Result{}, err
		}
		if got.LifeCycleState == "Finished" || got.LifeCycleState == "NotBuilt" {
			return b.result(got)
		}
		select {
		case <-ctx.Done():
			return task.Result{}, context.Cause(ctx)
		case <-time.After(b.task.Every):
		}
	}
}

// link is where people look at the build.
func (b *session) link() string { return b.client.URL() + "/browse/" + url.PathEscape(b.key) }

// look reads how the build does. Bamboo knows no result of a build that it has
// only just queued.
func (b *session) look(ctx context.Context) (build, error) {
	var got build
	err := b.client.Get(ctx, api+"/result/"+url.PathEscape(b.key), nil, &got)
	var s *restapi.StatusError
	if errors.As(err, &s) && s.Status == http.StatusNotFound && b.state == "" {
		return build{LifeCycleState: "Pending"}, nil
	}
	if err == nil && got.LifeCycleState != b.state {
		b.state = got.LifeCycleState
		b.logf("%s is %s", b.key, b.state)
	}
	return got, err
}

// result makes the task's result of a build that has ended.
func (b *session) result(got build) (task.Result, error) {
	doc, err := json.Marshal(map[string]any{"build": map[string]any{
		"executionStatus": got.BuildState, "buildNumber": got.BuildNumber, "buildResultKey": b.key, "buildUrl": b.link(),
	}})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	b.logf("%s ended as %s", b.key, got.BuildState)
	if got.LifeCycleState == "Finished" && got.BuildState == "Successful" {
		return task.Result{Status: task.Succeeded, Outputs: doc}, nil
	}
	r := executor.Fail([]fault.FailureType{fault.Unknown}, "build %s ended as %s (%s)", b.key, got.BuildState, got.LifeCycleState)
	r.Outputs = doc
	return r, nil
}

// stopFor bounds the time in which a build is told to stop.
const stopFor = 20 * time.Second

// stop stops the build if nobody wants it any more.
func (b *session) stop(ctx context.Context) {
	cause := context.Cause(ctx)
	if b.key == "" || !errors.Is(cause, executor.ErrCancelled) && !errors.Is(cause, executor.ErrTimeout) {
		return
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), stopFor)
	defer done()
	if _, err := b.client.Do(ctx, restapi.Request{Method: http.MethodDelete, Path: api + "/queue/" + url.PathEscape(b.key)}); err != nil {
		fmt.Fprintf(b.env.LogError(Unit), "The build couldn't be stopped: %v\n", err)
		return
	}
	b.logf("Stopped the build")
}
