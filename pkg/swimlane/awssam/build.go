package awssam

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// buildType is the step type AwsSamBuild: "sam build" in the application's folder.
func buildType() step.Type {
	return step.Type{Name: string(OpBuild), Deploys: true, Session: true, Tool: tool, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: OpBuild}
		d.Fields(v, c.keys(d, "buildCommandOptions"))
		return c
	}}
}
