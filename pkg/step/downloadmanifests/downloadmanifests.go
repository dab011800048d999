// Package downloadmanifests is the step type DownloadManifests: the manifests of
// the stage's service are brought into the workspace of its group, or of its
// stage, each into a folder of its own.
//
// Outputs: output.files, the names of the files.
package downloadmanifests

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
)

// Name is the type's, as in YAML.
const Name = "DownloadManifests"

// Type describes the step type.
func Type() step.Type {
	return step.Type{Name: Name, Session: true, Service: true, Brings: true}.Fieldless(start)
}

// start has the delegate of the session bring the manifests.
func start(in step.In) (step.Action, error) {
	target, err := step.TargetOf[workspace.Brought](in)
	if err != nil {
		return step.Action{}, err
	}
	s, err := workspace.Session(in)
	if err != nil {
		return step.Action{}, err
	}
	manifests, selectors := target.Brought()
	if len(manifests) == 0 {
		return step.Action{}, fault.New(fault.Invalid, "the service has no manifests to bring").Causing(fault.ConfigurationFailure)
	}
	return workspace.Bring(in, workspace.Download{Session: s.ID, Manifests: manifests}, selectors...)
}
