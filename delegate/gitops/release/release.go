// Package release changes files of a release repository: it writes values into them
// on a branch of their own, makes pull requests, merges them and takes them back
// (semantics/gitops §17).
//
// Each task may be done twice, and killed between any two lines: branches and pull
// requests are found again by their names, and what a stage has made stands in its
// checkpoints.
package release

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/gitfetch"
	"github.com/slipway-cd/slipway/delegate/githost"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Config is what the executor needs.
type Config struct {
	Git *gitfetch.Fetcher
	// Via is how hosts' APIs are reached; nil is a transport with net/http's defaults.
	Via http.RoundTripper
	// Look is at most between two looks at a pull request, and at first a tenth of it:
	// hosts soon know what can be merged, and people take their time. 0: 10 s.
	Look time.Duration
}

// The command units of the log.
const (
	unitFetch  = "Fetch Files"
	unitEdit   = "Update GitOps Configuration files"
	unitPush   = "Commit and Push"
	unitCreate = "Create PR"
	unitMerge  = "Merge PR"
	unitRevert = "Revert"
)

// New makes the executor of tasks in release repositories.
func New(cfg Config) executor.Executor {
	if cfg.Look == 0 {
		cfg.Look = 10 * time.Second
	}
	return func(ctx context.Context, a task.Assignment, env executor.Env) (task.Result, error) {
		_, spec, err := executor.Work[errand.Release](a)
		if err != nil {
			return task.Result{}, err
		}
		host, err := githost.New(spec.Host, cfg.Via)
		if err != nil {
			return task.Result{}, err
		}
		j := &job{cfg: cfg, env: env, spec: spec, host: host}
		var out errand.Released
		switch {
		case spec.Op == errand.OpUpdate && spec.Update != nil:
			out.Update, err = j.update(ctx)
		case spec.Op == errand.OpMerge && spec.Merge != nil:
			out.Merge, err = j.merge(ctx)
		case spec.Op == errand.OpRevert:
			out.Revert, err = j.revert(ctx)
		default:
			return task.Result{}, fault.New(fault.Unsupported, "this delegate, of an older version, can't do %s", spec.Op)
		}
		if refused := executor.Refusal(ctx, task.Result{}, err); refused != nil {
			return *refused, nil
		}
		if err != nil {
			return task.Result{}, err
		}
		text, err := json.Marshal(out)
		if err != nil {
			return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
		}
		return task.Result{Status: task.Succeeded, Outputs: text}, nil
	}
}

// job is a task under way.
type job struct {
	cfg  Config
	env  executor.Env
	spec errand.Release
	host *githost.Host

	pauses int
}

// say writes a line of the log.
func (j *job) say(unit, format string, args ...any) {
	_, _ = fmt.Fprintf(j.env.Log(unit), format+"\n", args...) // a log that can't be written is the agent's to tell
}

// link is where people see a pull request.
func link(p errand.PullRequest) *errand.Link { return &errand.Link{Number: p.Number, URL: p.URL} }

// keep keeps what a step has made or merged, for those after it in its stage.
func (j *job) keep(ctx context.Context, key string, p errand.PullRequest) error {
	_, err := j.env.Checkpoint(ctx, key, p)
	return err
}

// kept are the pull requests that the steps of the stage have made, the newest first,
// and the commits of those that are merged, by the steps.
func (j *job) kept(ctx context.Context) (made []errand.PullRequest, nodes []string, merged map[string]errand.PullRequest, err error) {
	all, err := j.env.Checkpoints(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	merged = map[string]errand.PullRequest{}
	for _, c := range all {
		node, isMade := errand.MadeBy(c.Key)
		of, isMerged := errand.MergedOf(c.Key)
		if !isMade && !isMerged {
			continue
		}
		var p errand.PullRequest
		if err := json.Unmarshal(c.Data, &p); err != nil {
			return nil, nil, nil, fmt.Errorf("decode what a step has made: %w", err)
		}
		if isMade {
			made, nodes = append(made, p), append(nodes, node)
		} else {
			merged[of] = p
		}
	}
	return made, nodes, merged, nil
}

// pause waits until a pull request is to be looked at again.
func (j *job) pause(ctx context.Context) error {
	j.pauses++
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(min(j.cfg.Look, j.cfg.Look/10*time.Duration(j.pauses))):
		return nil
	}
}
