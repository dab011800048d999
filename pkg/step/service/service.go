// Package service is the step that a Deployment stage begins with when its
// service's artifact must be looked up: it finds the version once, for all
// that comes after it in the stage (semantics/entities §2.2).
//
// Nobody writes it down: pkg/planning puts it there. Outputs:
// output.artifactResults.primary. Registries are asked by delegate/artifact.
package service

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: plan.TypeService, New: decode, Finish: step.Finisher((*Spec).finish)}
}

// Spec is the step's spec. It is empty in pipelines; whoever asks which
// versions there are says how many, and of which source.
type Spec struct {
	List   int
	Source string
}

func decode(_ *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	if n := v.Node.Get("list"); n != nil {
		s.List, _ = strconv.Atoi(n.Value) // pkg/execution wrote it
	}
	if n := v.Node.Get("source"); n != nil {
		s.Source = n.Value
	}
	return s
}

// Start asks a delegate for the artifact's version. A source that turns out to
// name its image by itself needs none.
func (s *Spec) Start(in step.In) (step.Action, error) {
	ask := in.Artifact
	if s.List > 0 {
		ask = func() (step.Artifact, error) { return in.ArtifactVersions(s.Source, s.List) }
	}
	a, err := ask()
	if err != nil {
		return step.Action{}, err
	}
	if a.Task == nil {
		return step.Action{Done: &plan.Outcome{Status: plan.Success}}, nil
	}
	selectors := append(in.Selectors[:len(in.Selectors):len(in.Selectors)], a.Selectors...)
	return step.Action{Task: &step.Task{Kind: task.KindArtifact, Payload: a.Task, Selectors: selectors, Timeout: a.Timeout}}, nil
}

// finish says in the step's message what was found.
func (*Spec) finish(_ step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	if o.Status != plan.Success {
		return o, nil
	}
	var out struct {
		Output struct {
			Results struct {
				Primary  lookup.Results
				Sidecars map[string]lookup.Results
			} `json:"artifactResults"`
		}
	}
	if err := json.Unmarshal(r.Outputs, &out); err != nil {
		return plan.Outcome{}, fmt.Errorf("decode the artifact: %w", err)
	}
	var words []string
	if found := out.Output.Results.Primary; found.Image != "" || found.Version != "" {
		words = append(words, cmp.Or(found.Image, found.Version))
	}
	for _, id := range slices.Sorted(maps.Keys(out.Output.Results.Sidecars)) {
		found := out.Output.Results.Sidecars[id]
		words = append(words, id+" "+cmp.Or(found.Image, found.Version))
	}
	o.Message = strings.Join(words, ", ")
	return o, nil
}
