package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// reportFor bounds how long a result is posted again and again. It is longer
// than any lease: later nobody would take it.
const reportFor = 5 * time.Minute

// report posts a result until it has arrived, the lease is lost or the time
// is up. It goes on although the task was cancelled.
func (a *Agent) report(r *running, result task.Result) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.ctx), reportFor)
	defer stop()
	report := task.Report{Fence: r.Fence, Result: bounded(result)}
	for try := 0; ; try++ {
		err := a.api.post(ctx, a.taskPath(r.ID, "result"), report, nil)
		switch {
		case err == nil:
			return nil
		case fault.Is(err, fault.LeaseLost), fault.Is(err, fault.NotFound), fault.Is(err, fault.Conflict):
			return err // the task isn't this delegate's any more
		case fault.Is(err, fault.Invalid), fault.Is(err, fault.TooLarge):
			if try > 0 && report.Result.Outputs == nil {
				return err
			}
			report.Result = failed(fault.New(fault.CodeOf(err), "the control plane refused the task's result: %w", err))
			report.Result.Changes = result.Changes
			continue
		}
		if err := pause(ctx, backOff(try)); err != nil {
			return fmt.Errorf("after %d tries: %w", try+1, err)
		}
	}
}

// bounded replaces a result that is larger than the contract allows.
func bounded(r task.Result) task.Result {
	if len(r.Outputs)+len(r.Message) < task.MaxResult/2 && len(r.SecretOutputs) == 0 && len(r.Changes) == 0 {
		return r // small without looking closely
	}
	doc, err := json.Marshal(r)
	if err == nil && len(doc) <= task.MaxResult {
		return r
	}
	if err != nil {
		return failed(fmt.Errorf("encode the result: %w", err))
	}
	return task.Result{
		Status: task.Failed, Changes: r.Changes, FailureTypes: fault.Failures(fault.New(fault.TooLarge, "")),
		Message: fmt.Sprintf("the result has %d KiB; at most %d KiB are kept. Is an output very large?", len(doc)>>10, task.MaxResult>>10),
	}
}
