// Package nativehelm is the deployment type NativeHelm: charts that Helm itself
// installs and upgrades, with releases that Helm keeps
// (semantics/kubernetes §19).
//
// Where it deploys to, and what its services hold, is as with Kubernetes. What
// its steps do with a release is delegate/helm's.
package nativehelm

import (
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// Type is the deployment type.
const Type = "NativeHelm"

// maxRelease is how long Helm lets a release's name be.
const maxRelease = 53

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: kubernetes.DecodeService, Manifests: kubernetes.Manifests(), Infrastructures: kubernetes.Infrastructures(maxRelease),
		Steps: step.Names(Steps()), Near: []string{kubernetes.Type}, Kinds: []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}
