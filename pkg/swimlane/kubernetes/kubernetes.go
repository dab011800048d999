// Package kubernetes is the deployment type Kubernetes: manifests, charts and
// kustomizations that are applied to a namespace of a cluster
// (semantics/kubernetes §1).
//
// What native Helm has of it too, infrastructure and charts, stands here. What
// its steps do in a cluster is delegate/kubernetes'.
package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type.
const Type = "Kubernetes"

// MaxRelease is how long a release's name may be: it becomes a label's value.
const MaxRelease = 63

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: DecodeService, Manifests: Manifests(), Infrastructures: Infrastructures(MaxRelease),
		Steps: step.Names(Steps()), Near: []string{"NativeHelm"}, Kinds: []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// Service is what its services have besides what all have.
type Service struct {
	// PrimaryRef says which of several charts is deployed
	// (manifestConfigurations.primaryManifestRef).
	PrimaryRef yamldoc.Field[string]
}

// DecodeService decodes the spec of a service's definition.
func DecodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	s := &Service{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"manifestConfigurations": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"primaryManifestRef": func(v yamldoc.Value) {
				s.PrimaryRef = d.String(v)
				d.Fixed(v, s.PrimaryRef.Expr)
			}})
		},
		"hooks": func(v yamldoc.Value) { hooks(d.Decoder, v) },
	}))
	return s
}
