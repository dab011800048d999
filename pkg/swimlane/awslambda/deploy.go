package awslambda

import "github.com/slipway-cd/slipway/pkg/step"

// deployType is the step type AwsLambdaDeploy: the function is made or updated, a
// version of it is published, and its aliases point to that.
//
// Outputs: output.functionName, output.version, output.functionArn,
// output.versionArn, output.codeSha256, output.previousVersion, output.aliases
// and deploymentInfoOutcome.serverInstanceInfoList.
func deployType() step.Type { return previewed(fieldless(OpDeploy), 0) }
