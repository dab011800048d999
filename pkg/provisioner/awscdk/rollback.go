package awscdk

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// rollbackType is the step type AwsCdkRollback: cdk deploys once more as the last
// execution before this one has deployed by the identifier, what is in the
// workspace now.
//
// Outputs: those of AwsCdkDeploy.
func rollbackType() step.Type {
	return step.Type{Name: string(OpRollback), Session: true, Tool: tool, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		s := &rollback{}
		d.Fields(v, document.Keys{
			"provisionerIdentifier": provisioner.Identifier(d, &s.Identifier),
			"envVariables":          s.tool.Keys(d)["envVariables"],
			"delegateSelectors":     d.Words(nil), // the plan's
		})
		d.Missing(v, "provisionerIdentifier")
		return s
	}}
}

// rollback is the step's spec.
type rollback struct {
	Identifier yamldoc.Field[string]
	tool       workspace.Tool
}

// Start has cdk deploy what was deployed before. If this execution has deployed
// nothing, or none has before it, there is nothing to do.
func (s *rollback) Start(in step.In) (step.Action, error) {
	by, err := provisioner.Of(s.Identifier)
	if err != nil {
		return step.Action{}, err
	}
	all, err := in.Provisioned(Kind, by.Identifier, "")
	if err != nil {
		return step.Action{}, err
	}
	own := slices.IndexFunc(all, func(p step.Provisioned) bool { return p.Execution == in.Execution })
	if own < 0 {
		return nothing("Nothing to roll back: this execution has deployed nothing by the provisioner " + by.Identifier), nil
	}
	if !slices.ContainsFunc(all, func(p step.Provisioned) bool { return p.Execution != in.Execution && p.Status != provision.Begun }) {
		return nothing("Nothing to roll back to: no execution has deployed by the provisioner " + by.Identifier + " with success before this one. What it has made stays"), nil
	}
	var at Place
	if err := json.Unmarshal(all[own].Place, &at); err != nil {
		return step.Action{}, fmt.Errorf("read where this execution has deployed: %w", err)
	}
	run, err := s.tool.Run(in)
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpRollback, Run: run}, at, by)
}

// nothing is the end of a step that has nothing to do.
func nothing(why string) step.Action {
	return step.Action{Done: &plan.Outcome{Status: plan.Success, Message: why, Outputs: json.RawMessage(`{"output":{}}`)}}
}
