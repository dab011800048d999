package awslambda

import "github.com/slipway-cd/slipway/pkg/step"

// canaryDeployType is the step type AwsLambdaCanaryDeploy: a version is published
// as by AwsLambdaDeploy, and the aliases stay where they are.
//
// Outputs: as those of AwsLambdaDeploy.
func canaryDeployType() step.Type { return previewed(fieldless(OpCanary), 1) }
