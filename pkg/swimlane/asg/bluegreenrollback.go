package asg

import "github.com/slipway-cd/slipway/pkg/step"

// blueGreenRollbackType is the step type AsgBlueGreenRollback: the group that had
// the traffic has its machines again, then the traffic, and the new group is what
// it was before, or gone. Where the stage changed nothing it succeeds and changes
// nothing.
//
// Outputs: output.asgName, output.newAsgName and output.oldAsgName. It goes by the
// checkpoints of the stage alone, which delegate/asg keeps.
func blueGreenRollbackType() step.Type { return fieldless(OpBlueGreenRollback) }
