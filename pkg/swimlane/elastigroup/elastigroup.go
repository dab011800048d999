// Package elastigroup is the deployment type Elastigroup: groups of machines of
// Amazon EC2 that Spot runs, whose configuration is a document of Spot's own API
// and whose machines start from the service's image (semantics/entities §2.3).
//
// What the steps do with Spot, and with the load balancers before its groups, is
// delegate/elastigroup's.
package elastigroup

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "Elastigroup"

// spot is the type of its connectors.
const spot = "Spot"

// Keys of its services and infrastructure definitions, and what their files are
// called.
const (
	startupScript = "startupScript"
	configuration = "configuration"
)

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService, Steps: append(step.Names(Steps()), string(OpShiftRollback)),
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeAccount, Key: []string{"connectorRef"}}},
		Kinds:           []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// service is what its services have besides what all have.
type service struct {
	Startup *filesource.Store // nil: what the configuration says
}

// decodeService decodes the spec of a service's definition.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	s := &service{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"artifacts":              aws.Sources(d, "a machine can't start from", "AmazonMachineImage"),
		startupScript:            file(d, startupScript, &s.Startup),
		"manifests":              d.Never("an Elastigroup has no manifests: its configuration is the infrastructure definition's"),
		"manifestConfigurations": d.Never("an Elastigroup has no manifests: its configuration is the infrastructure definition's"),
		"hooks":                  d.Refuse("hooks of Elastigroups aren't supported"),
	}))
	return s
}

// file reads {store} of a file that the lane has.
func file(d *swimlane.Decoder, what string, into **filesource.Store) document.Rule {
	return func(v yamldoc.Value) {
		d.Fields(v, document.Keys{
			"store":    func(v yamldoc.Value) { *into = aws.Store(d.Decoder, v, what) },
			"metadata": document.Nothing, // the console's
		})
		d.Need(v, "store")
	}
}
