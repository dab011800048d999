package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// reportFor bounds how long a result is posted again and again. It is longer
// than any lease: later nobody would take it.
const reportFor = 5 * time.Minute

// report posts a result until it has arrived, the lease is lost or the time
// is up. It goes on although the task was cancelled.
func (a *Agent) report(r *running, result task.Result) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.ctx), reportFor)
	defer stop()
	report := bounded(protocol.Report{Fence: r.Fence, Result: result})
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
			done := report.Result.Changes
			report.Result = failed(fault.Wrap(err, "the control plane refused the task's result"))
			report.Result.Changes = done
			continue
		}
		if err := pause(ctx, backOff(try)); err != nil {
			return fmt.Errorf("after %d tries: %w", try+1, err)
		}
	}
}

// longMessage is what is left of a message that makes a report too large.
const longMessage = 8 << 10

// bounded makes a report that is larger than the contract allows fit. What the
// control plane finds out by itself goes first: the instances of a release are
// what its watcher reports. Only outputs are never cut, because later steps
// work with them: a result whose outputs don't fit has failed.
func bounded(report protocol.Report) protocol.Report {
	r := &report.Result
	if len(r.Outputs)+len(r.Message) < task.MaxResult/2 && len(r.SecretOutputs) == 0 && len(r.Changes) == 0 {
		return report // small without looking closely
	}
	size, err := sizeOf(report)
	if err != nil {
		report.Result = failed(err)
		return report
	}
	whole := size
	r.Changes = slices.Clone(r.Changes)
	for _, cut := range []func(*task.Result){
		changing(func(c *task.Change) { c.Instances, c.Counted = nil, false }),
		changing(func(c *task.Change) { c.Resources = nil }),
		func(r *task.Result) {
			r.Message = strings.ToValidUTF8(r.Message[:min(len(r.Message), longMessage)], "")
		},
		changing(func(c *task.Change) { c.Workloads, c.Whole = nil, false }),
	} {
		if size <= task.MaxResult {
			return report
		}
		cut(r)
		if size, err = sizeOf(report); err != nil {
			report.Result = failed(err)
			return report
		}
	}
	if size > task.MaxResult {
		report.Result = task.Result{
			Status: task.Failed, Changes: r.Changes, FailureTypes: fault.Failures(fault.New(fault.TooLarge, "")),
			Message: fmt.Sprintf("the result has %d KiB; at most %d KiB are kept. Is an output very large?", whole>>10, task.MaxResult>>10),
		}
	}
	return report
}

func sizeOf(report protocol.Report) (int, error) {
	doc, err := json.Marshal(report)
	if err != nil {
		return 0, fmt.Errorf("encode the result: %w", err)
	}
	return len(doc), nil
}

// changing cuts every change of a result, and says so in it.
func changing(cut func(*task.Change)) func(*task.Result) {
	return func(r *task.Result) {
		for i := range r.Changes {
			cut(&r.Changes[i])
			r.Changes[i].Cut = true
		}
	}
}
