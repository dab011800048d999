// Package awslambda is the deployment type AwsLambda: a function of AWS Lambda
// whose definition is a document of Lambda's API and whose code is the service's
// artifact (semantics/entities §2.3).
//
// What its steps do with the function is delegate/awslambda's. What it has of an
// account and of documents is pkg/swimlane/aws's.
package awslambda

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "AwsLambda"

// The kinds of its manifests.
const (
	definition = "AwsLambdaFunctionDefinition"
	alias      = "AwsLambdaFunctionAliasDefinition"
)

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	main := aws.Document(definition)
	main.Main = true
	return swimlane.Lane{
		Type: Type, Service: decodeService, Manifests: []swimlane.ManifestKind{main, aws.Documents(alias)},
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeRegion, Key: []string{"connectorRef", "region"}}},
		Steps:           step.Names(Steps()), Kinds: []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// decodeService decodes the spec of a service's definition, of which nothing is
// needed later but what all services have.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"artifacts":              aws.Sources(d, "a function can't be made of", "AmazonS3", "Ecr", "ArtifactoryRegistry/generic", "Nexus3Registry/maven", "Nexus3Registry/raw"),
		"manifestConfigurations": d.Refuse("a choice of manifests isn't supported: a function has one definition"),
		"hooks":                  d.Refuse("hooks of functions aren't supported"),
	}))
	return nil
}

// region is an account of AWS in a region.
type region struct{ aws.Account }

func decodeRegion(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	r := &region{}
	d.Fields(v, r.Keys(d))
	d.Need(v, r.Needed()...)
	return r
}

// Target is the account, the function's definition and its code.
func (p *region) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{}
	var err error
	if t.AWS, t.Selectors, err = p.Reached(r); err != nil {
		return swimlane.Target{}, err
	}
	if t.Function, err = aws.Manifests(r, definition); err != nil {
		return swimlane.Target{}, err
	}
	if t.Aliases, err = aws.Manifests(r, alias); err != nil {
		return swimlane.Target{}, err
	}
	source, selectors, err := r.Source()
	if err != nil {
		return swimlane.Target{}, err
	}
	t.Artifact, t.Selectors = source, append(t.Selectors, selectors...)
	image, version, err := r.Artifact()
	if image == "" {
		image = version
	}
	return swimlane.Target{Spec: t, Image: image}, err
}
