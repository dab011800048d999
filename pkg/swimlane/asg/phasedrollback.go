package asg

import "github.com/slipway-cd/slipway/pkg/step"

// phasedRollbackType is the step type AsgRollback: the group that served before
// AsgSetup has its machines again, and what scales it; the one that that step has made
// is deleted. Where it made none it succeeds and changes nothing.
//
// Outputs: output.asgName, output.newAsgName and output.oldAsgName. It goes by the
// checkpoints of the stage alone, which delegate/asg keeps.
func phasedRollbackType() step.Type { return fieldless(OpPhasedRollback) }
