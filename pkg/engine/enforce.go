package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/logstream"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/redact"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A step may name policy sets that are asked about how it has ended
// (enforce.policySets). They are asked where the end is decided on, and again if
// that decision is cut short: an evaluation changes nothing. What stands is what
// was committed.

// enforced is a step's outcome once the policy sets that the step enforces have
// been asked: an attempt that ended well fails if one of them denies. What has
// failed by itself they aren't asked about.
func enforced(w *walk, n *plan.Node, s plan.State, o *plan.Outcome) *plan.Outcome {
	if !o.Status.Good() || step.EnforcedSets(n.Doc) == nil {
		return o
	}
	after := w.Enforced(n, s.Attempt, *o, w.states.get)
	return &after
}

// enforced asks the sets of a step about a good outcome. If nobody can be asked
// now, the step fails, but who only ends a wait leaves that to the machine run.
func (s *snapshot) enforced(n *plan.Node, attempt int, o plan.Outcome, state func(plan.NodeID) plan.State) plan.Outcome {
	verdict, err := s.enforce(n, attempt, o, s.r.scope(s.ctx, s, n, state))
	if err != nil && (s.ends || s.ctx.Err() != nil) {
		s.keep(err)
		return o
	}
	if err == nil {
		err = s.tell(n, attempt, afterwardsChunk, verdict)
	}
	if err != nil {
		bad := failed(fmt.Errorf("the policy sets that the step enforces: %w", err))
		bad.Outputs = o.Outputs
		return bad
	}
	return ruled(o, verdict)
}

// ruled is an outcome with what a verdict means for it.
func ruled(o plan.Outcome, v policy.Judged) plan.Outcome {
	if said := v.Told(); said != "" {
		if o.Message != "" {
			said = o.Message + "; " + said
		}
		o.Message = said
	}
	if v.Status() == policy.Refused {
		o.Status, o.Failures = plan.Failed, []fault.FailureType{fault.PolicyEvaluationFailure}
	}
	return o
}

func (s *snapshot) enforce(n *plan.Node, attempt int, o plan.Outcome, scope *resolve.Scope) (policy.Judged, error) {
	sets, err := enforcedSets(n, scope)
	if err != nil || len(sets) == 0 {
		return policy.Judged{}, err
	}
	c := s.asks(policy.Custom, policy.OnStep, n, attempt)
	input, err := outcomeInput(n, attempt, o, c.Metadata(s.r.now()))
	if err != nil {
		return policy.Judged{}, err
	}
	return s.r.policies.Named(s.ctx, c, sets, input)
}

// enforcedSets are the sets that a step names. One expression may stand for all
// of them, or for one.
func enforcedSets(n *plan.Node, scope *resolve.Scope) ([]string, error) {
	written := &yamldoc.Node{Kind: yamldoc.Mapping, Entries: []yamldoc.Entry{{Key: "policySets", Value: step.EnforcedSets(scope.Doc(n))}}}
	resolved, err := scope.Tree(written, nil)
	if err != nil {
		return nil, err
	}
	doc := resolved.Entries[0].Value
	var sets []string
	for _, one := range append(doc.List(), doc) { // one expression may give a list, or a text with commas
		if one == nil || one.Kind != yamldoc.Scalar {
			continue
		}
		for name := range strings.SplitSeq(one.Value, ",") {
			if name = strings.TrimSpace(name); name != "" {
				sets = append(sets, name)
			}
		}
	}
	if len(sets) > policy.MaxEnforced {
		return nil, fault.New(fault.TooLarge, "found %d policy sets; the limit is %d", len(sets), policy.MaxEnforced)
	}
	return sets, nil
}

// outcomeInput is what is asked about an outcome: a list of what the step put out, by
// its name, "output" first, and of the step itself. Secrets are masked.
func outcomeInput(n *plan.Node, attempt int, o plan.Outcome, metadata map[string]any) (any, error) {
	type part struct {
		Name    string `json:"name"`
		Outcome any    `json:"outcome"`
	}
	outputs := map[string]any{}
	if len(o.Outputs) > 0 {
		if err := json.Unmarshal(o.Outputs, &outputs); err != nil {
			return nil, fmt.Errorf("read the outputs of %s: %w", n.ID, err)
		}
	}
	const own = "output" // where policies that were written for Harness look first
	if outputs[own] == nil {
		outputs[own] = map[string]any{}
	}
	parts := []part{{own, plan.Sealed(outputs[own], redact.Mask)}}
	for _, name := range slices.Sorted(maps.Keys(outputs)) {
		if name != own {
			parts = append(parts, part{name, plan.Sealed(outputs[name], redact.Mask)})
		}
	}
	return append(parts, part{"step", map[string]any{
		"identifier": n.Identifier, "name": n.Name, "type": n.Type, "status": o.Status.Expression(), "attempt": attempt, "metadata": metadata,
	}}), nil
}

// asks is what policies are asked for on behalf of an attempt of a step.
func (s *snapshot) asks(typ, action string, n *plan.Node, attempt int) judge.Case {
	return judge.Case{
		Moment: policy.Moment{Type: typ, Action: action}, Scope: s.execution.Scope, Actor: s.execution.Actor,
		Entity: "step " + n.Identifier + " of pipeline " + s.execution.Pipeline, Execution: s.execution.ID, Node: string(n.ID), Attempt: attempt,
	}
}

// afterwardsChunk is the number of what is said in the log of an attempt that has
// ended: more than the parts of all its looks, or delegates, begin with
// (execution.Tasks.AppendLog).
const afterwardsChunk = logstream.MaxChunks << 20

// maxSaid is how many lines policies get in the log of an attempt.
const maxSaid = 30

// tell has what policies said stand in the log of an attempt, from a chunk on.
func (s *snapshot) tell(n *plan.Node, attempt int, chunk int64, v policy.Judged) error {
	found := v.Findings()
	if len(found) == 0 {
		return nil
	}
	var text []byte
	for _, f := range found[:min(len(found), maxSaid)] {
		line := logstream.Line{Time: s.r.now().UnixMilli(), Level: logstream.Info, Text: "policy warning: " + f.String()}
		if f.Severity == policy.Error {
			line.Level, line.Text = logstream.Error, "denied: "+f.String()
		}
		doc, err := logstream.Encode(line)
		if err != nil {
			return err
		}
		text = append(text, doc...)
	}
	s.said = append(s.said, store.LogChunk{Stream: LogStream(s.execution.ID, n.ID, attempt), Number: chunk, Data: text})
	return nil
}

// say writes what policies said into the logs of steps. A log that is full does
// without: the step's message has it, too.
func (h *Handler) say(ctx context.Context, said ...store.LogChunk) error {
	for _, c := range said {
		if err := h.Store.AppendLog(ctx, logstream.MaxKept, c); err != nil && !fault.Is(err, fault.TooLarge) {
			return err
		}
	}
	return nil
}
