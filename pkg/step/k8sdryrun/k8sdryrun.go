// Package k8sdryrun is the step type K8sDryRun: the service's manifests are
// rendered, the cluster checks them, and nothing is changed
// (semantics/kubernetes §15).
//
// Outputs: k8s.ManifestDryRun, the rendered manifests, and output.releaseName.
// Rendering and checking are delegate/kubernetes's.
package k8sdryrun

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/step/kubernetes"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type.
func Type() step.Type { return step.Type{Name: string(task.OpDryRun), Deploys: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	Encrypt yamldoc.Field[bool] // the manifests are a secret output
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"encryptYamlOutput": d.Flag(&s.Encrypt),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	return s
}

// Start has a delegate render the manifests and ask the cluster.
func (s *Spec) Start(in step.In) (step.Action, error) {
	return kubernetes.Start(in, task.Kubernetes{Op: task.OpDryRun, EncryptOutput: s.Encrypt.Value})
}
