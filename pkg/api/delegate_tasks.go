package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/catalog"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/errand"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// OfTask names a task that a delegate holds in the path.
type OfTask struct {
	OfDelegate
	Task task.ID `path:"task" maxLength:"2048"`
}

// maxDelegateBody bounds what a delegate sends at once, in bytes: batches of
// log chunks and values files to resolve. It reads base64, a third larger.
const maxDelegateBody = 16 << 20

func (s *Server) delegateTasks() {
	exempt(s, action.Delegate, delegateOp("claimTasks", http.MethodPost, "/{id}/claim", "Ask for work"), s.station.claim)
	logs := delegateOp("appendLog", http.MethodPost, "/{id}/tasks/{task}/logs", "Send log chunks")
	logs.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, logs, s.station.appendLog)
	resolve := delegateOp("resolveTexts", http.MethodPost, "/{id}/tasks/{task}/resolve", "Resolve expressions of fetched texts")
	resolve.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, resolve, s.station.resolveTexts)
	exempt(s, action.Delegate, delegateOp("readFiles", http.MethodPost, "/{id}/tasks/{task}/files", "Read files of the file store"), s.station.readFiles)
	exempt(s, action.Delegate, delegateOp("keepCheckpoint", http.MethodPost, "/{id}/tasks/{task}/checkpoint", "Keep what is there before a change"), s.station.keepCheckpoint)
	exempt(s, action.Delegate, delegateOp("readCheckpoints", http.MethodPost, "/{id}/tasks/{task}/checkpoints", "Read what a task's stage has found before its changes"), s.station.readCheckpoints)
	keep := delegateOp("keepProvision", http.MethodPost, "/{id}/tasks/{task}/provision", "Say what a task does by its provisioner")
	keep.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, keep, s.station.keepProvision)
	exempt(s, action.Delegate, delegateOp("readProvisions", http.MethodPost, "/{id}/tasks/{task}/provisions", "Read what was done by a task's provisioner"), s.station.readProvisions)
	exempt(s, action.Delegate, delegateOp("askErrand", http.MethodPost, "/{id}/tasks/{task}/errand", "Ask about the applications of a task's stage, and have their agents do what the task says"), inTurn(s, s.station.errand))
	exempt(s, action.Delegate, delegateOp("freshToken", http.MethodPost, "/{id}/tasks/{task}/token", "Ask for another token before one that came with a task has ended"), s.station.freshToken)
	exempt(s, action.Delegate, delegateOp("completeTask", http.MethodPost, "/{id}/tasks/{task}/result", "Report how a task ended"), s.station.completeTask)
	exempt(s, action.Delegate, delegateOp("releaseTask", http.MethodPost, "/{id}/tasks/{task}/release", "Give a task back unstarted"), s.station.releaseTask)
}

// Claimed is the answer to a claim.
type Claimed struct {
	Tasks []task.Assignment `json:"tasks" nullable:"false"`
}

func (s *station) claim(ctx context.Context, in *struct {
	OfDelegate
	Body protocol.Claim
}) (*struct{ Body Claimed }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if err := checkClaim(in.Body); err != nil {
		return nil, err
	}
	tasks, err := s.Tasks.ClaimTasks(ctx, d, in.Body)
	return &struct{ Body Claimed }{Claimed{Tasks: list(tasks)}}, err
}

func (s *station) appendLog(ctx context.Context, in *struct {
	OfTask
	Body protocol.LogBatch
}) (*nothing, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, s.Tasks.AppendLog(ctx, d, in.Task, in.Body)
}

func (s *station) resolveTexts(ctx context.Context, in *struct {
	OfTask
	Body protocol.Resolve
}) (*struct{ Body protocol.Resolved }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := s.Tasks.ResolveTexts(ctx, d, in.Task, in.Body, author(ctx))
	return &struct{ Body protocol.Resolved }{out}, err
}

func (s *station) readFiles(ctx context.Context, in *struct {
	OfTask
	Body protocol.ReadFiles
}) (*struct{ Body protocol.FilesRead }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := s.Tasks.ReadFiles(ctx, d, in.Task, in.Body)
	out.Files = list(out.Files)
	return &struct{ Body protocol.FilesRead }{out}, err
}

func (s *station) keepCheckpoint(ctx context.Context, in *struct {
	OfTask
	Body protocol.KeepCheckpoint
}) (*struct{ Body task.Checkpoint }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	kept, err := s.Tasks.KeepCheckpoint(ctx, d, in.Task, in.Body)
	return &struct{ Body task.Checkpoint }{kept}, err
}

func (s *station) readCheckpoints(ctx context.Context, in *struct {
	OfTask
	Body protocol.ReadCheckpoints
}) (*struct{ Body protocol.CheckpointsRead }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	all, err := s.Tasks.Checkpoints(ctx, d, in.Task, in.Body.Fence)
	return &struct{ Body protocol.CheckpointsRead }{protocol.CheckpointsRead{Checkpoints: list(all)}}, err
}

func (s *station) keepProvision(ctx context.Context, in *struct {
	OfTask
	Body provision.Keep
}) (*struct{ Body provision.Done }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	kept, err := s.Tasks.KeepProvision(ctx, d, in.Task, in.Body)
	return &struct{ Body provision.Done }{kept}, err
}

func (s *station) readProvisions(ctx context.Context, in *struct {
	OfTask
	Body provision.Ask
}) (*struct{ Body provision.Known }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	read, err := s.Tasks.Provisions(ctx, d, in.Task, in.Body)
	return &struct{ Body provision.Known }{read}, err
}

func (s *station) errand(ctx context.Context, in *struct {
	OfTask
	Body errand.Ask
}) (*struct{ Body errand.Answer }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	t, w, err := s.Tasks.Work(ctx, d, in.Task, in.Body.Fence)
	if err != nil {
		return nil, err
	}
	var spec errand.Applications
	if err := json.Unmarshal(w.Spec, &spec); err != nil {
		return nil, fault.New(fault.Forbidden, "task %s isn't about applications", in.Task)
	}
	if in.Body.Do == errand.DoUpdate {
		out, err := s.amend(ctx, d, t, spec, in.Body)
		return &struct{ Body errand.Answer }{out}, err
	}
	out, err := s.GitOps.Errand(ctx, t, spec, in.Body)
	out.Apps = list(out.Apps)
	return &struct{ Body errand.Answer }{out}, err
}

// amend saves the document of an application as a task wants it, after what it was is
// kept for the rollback of its stage.
func (s *station) amend(ctx context.Context, d store.Delegate, t store.Task, spec errand.Applications, q errand.Ask) (errand.Answer, error) {
	out := errand.Answer{Apps: []errand.App{}}
	for tries := 1; ; tries++ {
		all, err := s.Tasks.Checkpoints(ctx, d, t.ID, q.Fence)
		if err != nil {
			return out, err
		}
		next, err := s.GitOps.Amend(ctx, t, spec, q, func(key string) (json.RawMessage, bool) {
			for _, c := range all {
				if c.Key == key {
					return c.Data, true
				}
			}
			return nil, false
		})
		if err != nil {
			return out, err
		}
		if next.Change == errand.Changed {
			before, err := json.Marshal(string(next.Before))
			if err != nil {
				return out, fmt.Errorf("encode what application %s is: %w", next.Key.ID, err)
			}
			if _, err := s.Tasks.KeepCheckpoint(ctx, d, t.ID, protocol.KeepCheckpoint{Fence: q.Fence, Key: errand.Before(next.App.Agent, next.App.Name), Data: before}); err != nil {
				return out, err
			}
		}
		if next.Change == errand.Changed || next.Change == errand.Restored {
			_, err = s.Catalog.Save(ctx, catalog.Draft{Scope: next.Key.Scope, Agent: next.Key.Env, YAML: next.Text, Version: next.Version}, next.By)
			if fault.Is(err, fault.StaleVersion) && tries < 5 {
				continue // somebody else has changed it meanwhile
			}
			if err != nil {
				return out, err
			}
		}
		next.App.Change = next.Change
		out.Apps = append(out.Apps, next.App)
		return out, nil
	}
}

func (s *station) freshToken(ctx context.Context, in *struct {
	OfTask
	Body protocol.FreshToken
}) (*struct{ Body task.IdentityToken }, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	t, err := s.Tasks.FreshToken(ctx, d, in.Task, in.Body)
	return &struct{ Body task.IdentityToken }{t}, err
}

func (s *station) completeTask(ctx context.Context, in *struct {
	OfTask
	RawBody []byte
	Body    protocol.Report
}) (*nothing, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if len(in.RawBody) > task.MaxResult {
		return nil, fault.New(fault.TooLarge, "the result of task %s has %d bytes; the limit is %d", in.Task, len(in.RawBody), task.MaxResult)
	}
	return nil, s.Tasks.CompleteTask(ctx, d, in.Task, in.Body)
}

func (s *station) releaseTask(ctx context.Context, in *struct {
	OfTask
	Body protocol.Held
}) (*nothing, error) {
	d, err := s.delegate(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, s.Tasks.ReleaseTask(ctx, d, in.Task, in.Body.Fence)
}
