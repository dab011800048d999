package launch

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/policy/judge"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

// judged asks the policies that count for a start: they see the pipeline with
// what its templates bring and with its inputs, and its expressions as they are
// written. What they warn of is kept with the execution, and whether others are
// to be asked about its steps: so no step has to find that out.
func (l *Launcher) judged(ctx context.Context, r Request, id string, made Planned) (Planned, error) {
	verdict, steps, err := l.Policies.OnStart(ctx, judge.Case{
		Moment: policy.Moment{Type: policy.OfPipeline, Action: policy.OnRun}, Scope: r.Scope, Actor: r.By.Actor, Entity: "pipeline " + r.Pipeline, Execution: id,
		Input: func() (map[string]any, error) {
			doc, err := l.plans.merged(ctx, r)
			return map[string]any{string(ref.Pipeline): doc}, err
		},
	})
	made.judgesSteps = steps
	if err != nil || len(verdict.Verdict) == 0 {
		return made, err
	}
	if err := verdict.Denied("a run of pipeline " + r.Pipeline); err != nil {
		return made, l.reject(ctx, r, audit.PolicyDenied, err)
	}
	warnings := verdict.Warnings()
	if len(warnings) == 0 {
		return made, nil
	}
	var given Given
	if err := json.Unmarshal(made.Inputs, &given); err != nil {
		return made, fmt.Errorf("decode the inputs of pipeline %s: %w", r.Pipeline, err)
	}
	for _, w := range warnings {
		given.Warnings = append(given.Warnings, fault.Detail{Severity: "warning", Code: "POLICY_WARNING", Message: w.String()})
	}
	made.Inputs, err = json.Marshal(given)
	return made, err
}

// merged is a pipeline's document with what templates bring and with the inputs
// of a request, as policies see it.
func (p *planner) merged(ctx context.Context, r Request) (any, error) {
	pipeline, err := p.entities.Entity(ctx, store.EntityKey{Scope: r.Scope, Kind: ref.Pipeline, ID: r.Pipeline})
	if err != nil {
		return nil, err
	}
	b := p.build(ctx, pipeline)
	b.stages = r.Stages
	merged, err := b.merge(r.Inputs)
	if err != nil {
		return nil, err
	}
	return merged.Doc.Any(), nil
}
