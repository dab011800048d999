package engine

import (
	"cmp"
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
)

// Policy sets may be asked about each step before it starts (pipeline onstepstart).
// Whether there are any is found out when an execution begins, from what is read
// for the sets of its start, and stands in its record (store.Execution.JudgesSteps):
// where there are none, a step reads and asks nothing.

// refused asks the policies that count for the start of a step's attempt, and ends
// the attempt if they deny it. An attempt that was let start before, by a call that
// was cut short, may have a task: it isn't wanted any more.
func (h *Handler) refused(ctx context.Context, snap *snapshot, scope *resolve.Scope, n *plan.Node, s plan.State) (bool, error) {
	if !snap.execution.JudgesSteps || s.Look > 0 || n.InRollback() || !written(n) {
		return false, nil
	}
	verdict, err := h.Reader.judgeStart(snap, scope, n, s)
	if snap.err != nil || ctx.Err() != nil {
		return false, cmp.Or(snap.err, ctx.Err())
	}
	o := plan.Outcome{Status: plan.Success}
	if err == nil {
		err = snap.tell(n, s.Attempt, 0, verdict)
		o = ruled(o, verdict)
	}
	if err != nil {
		o = failed(fmt.Errorf("the policies that are asked before a step starts: %w", err))
	}
	if err := h.say(ctx, snap.said...); err != nil || o.Status.Good() {
		return false, err
	}
	if _, err := h.cancel(ctx, TaskID(snap.execution.ID, n.ID, s.Attempt, s.Look)); err != nil {
		return false, err
	}
	s.Outcome = &o
	return true, h.commit(ctx, snap, []Write{{Node: n.ID, State: s}})
}

// written says whether a step stands in the pipeline's document, and wasn't added
// to its plan.
func written(n *plan.Node) bool {
	switch n.Type {
	case plan.TypeService, plan.TypeChart, plan.TypeSession, plan.TypePipeline:
		return false
	}
	return true
}

func (r *Reader) judgeStart(snap *snapshot, scope *resolve.Scope, n *plan.Node, s plan.State) (policy.Judged, error) {
	c := snap.asks(policy.OfPipeline, policy.OnStepStart, n, s.Attempt)
	c.Input = func() (map[string]any, error) {
		spec, err := r.resolved(scope, n)
		if err != nil {
			return nil, err
		}
		seen, ok := shown(scope, spec.Any()).(map[string]any)
		if !ok {
			seen = map[string]any{}
		}
		selectors, err := scope.Selectors(n.Selectors)
		if err != nil {
			return nil, err
		}
		timeout, err := scope.Text(cmp.Or(n.Timeout, cmp.Or(r.steps[n.Type].Timeout, defaultTimeout).String()))
		if err != nil {
			return nil, err
		}
		from := origin(n)
		list := make([]any, len(selectors))
		for i, one := range selectors {
			list[i] = map[string]any{"delegateSelectors": resolve.Shown(scope, one), "origin": from}
		}
		seen["delegateSelectors"] = list
		return map[string]any{
			"identifier": n.Identifier, "name": n.Name, "type": n.Type, "timeout": timeout, "spec": seen, "uuid": string(n.ID),
			"pipelineIdentifier": snap.execution.Pipeline, "stageIdentifier": n.Stage().Identifier, "executionId": snap.execution.ID, "attempt": s.Attempt,
		}, nil
	}
	return r.policies.On(snap.ctx, c)
}

// shown is what was resolved as policies may see it: without what stands for
// secrets.
func shown(scope *resolve.Scope, v any) any {
	switch v := v.(type) {
	case string:
		return resolve.Shown(scope, v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = shown(scope, inner)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = shown(scope, inner)
		}
		return out
	}
	return v
}

// origin says whose delegate selectors a step has: its own, or those of what is
// around it.
func origin(n *plan.Node) string {
	for at := n; at != nil; at = at.Parent() {
		if step.HasSelectors(at.Doc) {
			return string(at.Kind)
		}
	}
	return string(plan.KindPipeline)
}
