// Package service is the step that a Deployment stage begins with when its
// service's artifact must be looked up: it finds the version once, for all
// that comes after it in the stage (entities spec §2.2).
//
// Nobody writes it down: pkg/plan puts it there. Outputs:
// output.artifactResults.primary. Registries are asked by delegate/artifact.
package service

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: plan.TypeService, New: decode} }

// Spec is the step's spec, which is empty.
type Spec struct{}

func decode(*yamldoc.Node, *yamldoc.Report) step.Spec { return &Spec{} }

// Start asks a delegate for the artifact's version. A source that turns out to
// name its image by itself needs none.
func (*Spec) Start(in step.In) (step.Action, error) {
	a, err := in.Artifact()
	if err != nil {
		return step.Action{}, err
	}
	if a.Task == nil {
		return step.Action{Done: &plan.Outcome{Status: plan.Success}}, nil
	}
	selectors := append(in.Selectors[:len(in.Selectors):len(in.Selectors)], a.Selectors...)
	return step.Action{Task: &step.Task{Kind: task.KindArtifact, Payload: a.Task, Selectors: selectors, Timeout: a.Timeout}}, nil
}

// Finish says in the step's message what was found.
func (*Spec) Finish(_ step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	var out struct {
		Output struct {
			Results struct{ Primary task.ArtifactResults } `json:"artifactResults"`
		}
	}
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the artifact: %w", err)
	}
	found := out.Output.Results.Primary
	if o.Message = found.Image; o.Message == "" {
		o.Message = found.Version
	}
	return o, nil
}
