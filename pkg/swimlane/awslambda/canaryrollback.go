package awslambda

import "github.com/slipway-cd/slipway/pkg/step"

// canaryRollbackType is the step type AwsLambdaCanaryRollback: as
// AwsLambdaRollback, and the version that the stage has published is deleted
// instead of another one being published.
//
// Outputs: output.functionName, output.version and output.deletedVersion.
func canaryRollbackType() step.Type { return fieldless(OpCanaryRollback) }
