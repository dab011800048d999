package kubernetes

import "github.com/slipway-cd/slipway/pkg/step"

// stageScaleDownType is the step type
// K8sBlueGreenStageScaleDown: the colour that users don't see has no instances
// any more (semantics/kubernetes §14.4).
//
// Outputs: output.releaseName. Which colour that is, is found in the cluster
// by delegate/kubernetes; the one that serves is never touched.
func stageScaleDownType() step.Type { return fieldless(OpStageScaleDown) }
