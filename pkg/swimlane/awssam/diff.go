package awssam

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Diff is the step type that a preview has in place of AwsSamDeploy: it tells how the
// stack would change as far as the template says that before anything is built, and
// changes nothing. No pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is made
// by delegate/awssam.
func Diff() step.Type {
	return step.Type{Name: string(OpDiff), Deploys: true, Session: true, New: func(d *document.Decoder, v yamldoc.Value) step.Spec {
		c := &command{op: OpDiff}
		d.Fields(v, document.Merge(c.keys(d, "deployCommandOptions"), document.Keys{"stackName": d.Text(&c.Stack)}))
		return c
	}}
}
