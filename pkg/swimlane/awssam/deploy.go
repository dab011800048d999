package awssam

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// deployType is the step type AwsSamDeploy: "sam deploy" in the application's
// folder, of what was built there if it was.
//
// Outputs: output.stackId, output.stackStatus and output.outputVariables, which
// are the stack's outputs.
func deployType() step.Type {
	preview := &step.Preview{By: string(OpDiff), Keys: []string{"stackName", "deployCommandOptions", "envVariables"}}
	return step.Type{Name: string(OpDeploy), Deploys: true, Session: true, Tool: tool, Preview: preview, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: OpDeploy}
		d.Fields(v, document.Merge(c.keys(d, "deployCommandOptions"), document.Keys{"stackName": d.Text(&c.Stack)}))
		d.Need(v, "stackName")
		return c
	}}
}
