package awslambda

import "github.com/slipway-cd/slipway/pkg/step"

// rollbackType is the step type AwsLambdaRollback: the aliases point to where they
// did before the stage, and the function has the code and the configuration of the
// version that was the newest then. A function that the stage has made is deleted.
//
// Outputs: output.functionName, output.version and output.restoredVersion.
func rollbackType() step.Type { return fieldless(OpRollback) }
