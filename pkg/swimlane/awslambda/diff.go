package awslambda

import "github.com/slipway-cd/slipway/pkg/step"

// Diff is the step type that a preview has in place of a step that deploys: it
// tells how the function, its code and its aliases would change once all traffic
// goes to the new version, and changes nothing. No pipeline names it.
//
// Outputs: output.diff, output.changed and output.hasChanges. The comparison is
// made by delegate/awslambda.
func Diff() step.Type { return fieldless(OpDiff) }
