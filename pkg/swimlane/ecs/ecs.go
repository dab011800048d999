// Package ecs is the deployment type ECS: services of Amazon ECS, whose
// documents are those of AWS's own requests.
//
// How an account of AWS is reached, and how its documents are read, is
// pkg/swimlane/aws'. What the steps do there is delegate/ecs'.
package ecs

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "ECS"

// The kinds of manifests.
const (
	taskDefinition    = "EcsTaskDefinition"
	serviceDefinition = "EcsServiceDefinition"
	scalableTarget    = "EcsScalableTargetDefinition"
	scalingPolicy     = "EcsScalingPolicyDefinition"
)

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService, Steps: step.Names(Steps()),
		Manifests: []swimlane.ManifestKind{
			aws.Document(taskDefinition, filesource.S3), behind(aws.Document(serviceDefinition, filesource.S3)),
			aws.Documents(scalableTarget, filesource.S3), aws.Documents(scalingPolicy, filesource.S3),
		},
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeCluster, Key: []string{"connectorRef", "region", "cluster"}}},
		Kinds:           []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// service is what its services have besides what all have.
type service struct {
	TaskDefinitionARN yamldoc.Field[string] // ecsTaskDefinitionArn
}

// decodeService decodes the spec of a service's definition. One that says
// nothing yet is as good as none.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	s := &service{}
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"ecsTaskDefinitionArn":   d.Text(&s.TaskDefinitionARN),
		"manifestConfigurations": d.Refuse("manifestConfigurations of ECS services aren't supported"),
		"hooks":                  d.Refuse("hooks of ECS services aren't supported"),
	}))
	manifests := document.Child(v, "manifests")
	if !manifests.Is(yamldoc.Sequence) || d.Common == nil {
		return s // of a run: what is there by then, the target says
	}
	found := map[string]bool{}
	for _, item := range manifests.Node.Items {
		typ := document.Peek(yamldoc.Sub(item, ""), "manifest", "type")
		if typ == "" {
			return s // an input may bring any of them
		}
		found[typ] = true
	}
	switch arn := s.TaskDefinitionARN; {
	case arn.Set && found[taskDefinition]:
		d.Errorf(document.Child(v, "ecsTaskDefinitionArn"), document.Ambiguous, "found ecsTaskDefinitionArn and a manifest of the type %s; want only one of them", taskDefinition)
	case !arn.Set && !found[taskDefinition]:
		d.Errorf(manifests, document.MissingKey, "found neither a manifest of the type %s nor ecsTaskDefinitionArn; want one of them", taskDefinition)
	}
	if !found[serviceDefinition] {
		d.Errorf(manifests, document.MissingKey, "found no manifest of the type %s; want one", serviceDefinition)
	}
	return s
}

// TargetGroup is a name in service definitions: of the target group that a
// blue/green step gives the service.
const TargetGroup = "targetGroupArn"

// behind is a kind of manifest whose files may name the target group.
func behind(k swimlane.ManifestKind) swimlane.ManifestKind {
	k.Later = []string{TargetGroup}
	return k
}
