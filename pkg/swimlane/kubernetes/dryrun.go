package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// dryRunType is the step type K8sDryRun: the service's manifests are rendered,
// the cluster checks them, and nothing is changed (semantics/kubernetes §15).
//
// Outputs: k8s.ManifestDryRun, the rendered manifests, and output.releaseName.
// Rendering and checking are delegate/kubernetes's.
func dryRunType() step.Type {
	return step.Type{Name: string(OpDryRun), Deploys: true, New: decodeDryRun}
}

// dryRun is the step's spec.
type dryRun struct {
	Encrypt yamldoc.Field[bool] // the manifests are a secret output
}

func decodeDryRun(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &dryRun{}
	d.Fields(v, document.Keys{
		"encryptYamlOutput": d.Flag(&s.Encrypt),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate render the manifests and ask the cluster.
func (s *dryRun) Start(in step.In) (step.Action, error) {
	return start(in, Spec{Op: OpDryRun, EncryptOutput: s.Encrypt.Value})
}
