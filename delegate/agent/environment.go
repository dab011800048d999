package agent

import (
	"context"
	"io"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/pkg/task"
)

// environment is what the agent gives one task's executor.
type environment struct {
	agent *Agent
	task  *running
	dir   func() (string, error)
	clean func() error
}

func newEnvironment(a *Agent, r *running) *environment {
	dir, clean := a.scratch()
	return &environment{agent: a, task: r, dir: dir, clean: clean}
}

func (e *environment) env() executor.Env {
	return executor.Env{
		Writer:  func(string, executor.Level) io.Writer { return io.Discard },
		Resolve: e.resolve,
		Mask:    e.mask,
		Dir:     e.dir,
	}
}

func (e *environment) mask(...string) {}

// resolve asks the control plane for what only it knows. Secrets of the
// answer are masked before anybody can write them down.
func (e *environment) resolve(ctx context.Context, texts map[string]string) (map[string]string, error) {
	var out task.Resolved
	in := task.Resolve{Fence: e.task.Fence, Texts: texts}
	if err := e.agent.api.post(ctx, e.agent.taskPath(e.task.ID, "resolve"), in, &out); err != nil {
		return nil, err
	}
	return out.Texts, nil
}

func (e *environment) hide(r task.Result) task.Result { return r }

func (e *environment) close(ctx context.Context) {
	if err := e.clean(); err != nil {
		e.agent.Log.WarnContext(ctx, "can't remove a scratch directory", "task", e.task.ID, "error", err)
	}
}
