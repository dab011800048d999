package kubernetes

import "github.com/slipway-cd/slipway/pkg/step"

// diffType is the step type K8sDiff: what the stage's K8sRollingDeploy or
// K8sBlueGreenDeploy would change in the cluster is told, and nothing is
// changed (semantics/kubernetes §15).
//
// Outputs: output.diff, output.changed, output.hasChanges and
// output.releaseName. The comparison is made by the cluster and
// delegate/kubernetes.
func diffType() step.Type { return fieldless(OpDiff) }
