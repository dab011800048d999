// Package asg is the deployment type Asg: Auto Scaling groups of Amazon EC2,
// whose launch template, configuration, policies and schedules are documents of
// AWS's own requests and whose machines start from the service's image
// (semantics/entities §2.3).
//
// How an account of AWS is reached, and how its documents are read, is
// pkg/swimlane/aws'. What the steps do there is delegate/asg's.
package asg

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "Asg"

// The kinds of manifests.
const (
	launchTemplate = "AsgLaunchTemplate"
	configuration  = "AsgConfiguration"
	scalingPolicy  = "AsgScalingPolicy"
	schedule       = "AsgScheduledUpdateGroupAction"
	additional     = "AsgAdditionalConfiguration"
)

// userData is a key of its services, and what its files are called.
const userData = "userData"

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService, Steps: step.Names(Steps()),
		Manifests: []swimlane.ManifestKind{
			aws.Document(launchTemplate), aws.Document(configuration), aws.Documents(scalingPolicy), aws.Documents(schedule), aws.Document(additional),
		},
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeRegion, Key: []string{"connectorRef", "region"}}},
		Kinds:           []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// service is what its services have besides what all have.
type service struct {
	UserData *filesource.Store // nil: what the launch template says
}

// decodeService decodes the spec of a service's definition. Which manifests it
// needs is known when a stage deploys: an infrastructure definition may name a
// group that stands for them.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	s := &service{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"artifacts": aws.Sources(d, "a machine can't start from", "AmazonMachineImage"),
		userData: func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"store":    func(v yamldoc.Value) { s.UserData = aws.Store(d.Decoder, v, userData) },
				"metadata": document.Nothing, // the console's
			})
			d.Need(v, "store")
		},
		"manifestConfigurations": d.Refuse("a choice of manifests isn't supported: a group has one configuration"),
		"hooks":                  d.Refuse("hooks of Auto Scaling groups aren't supported"),
	}))
	return s
}
