// Package serverless is the deployment type ServerlessAwsLambda: a service of the
// Serverless Framework on AWS Lambda, whose folder is the service's manifest
// (semantics/entities §2.3).
//
// Its steps have serverless, or osls, do the work, as delegate/serverless runs it.
package serverless

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, the type of its infrastructure definitions and the
// kind of its manifests.
const Type = "ServerlessAwsLambda"

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService, Manifests: []swimlane.ManifestKind{workspace.Folder(Type, "configOverridePath")},
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeRegion, Key: []string{"connectorRef", "region", "stage"}}},
		Steps:           step.Names(Steps()),
		Kinds:           []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// decodeService decodes the spec of a service's definition, of which nothing is
// needed later but what all services have.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	const images = "it chooses an image, and serverless runs as a process on the delegate's machine"
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"artifacts": aws.AllSources(d, "a service of Serverless can't take", "AmazonS3", "ArtifactoryRegistry", "Ecr"),
		"pluginInfo": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"runtimeLanguage": d.Idle(images, d.Text(nil)), "serverlessVersion": d.Idle(images, d.Text(nil)),
				"os": d.Idle(images, d.Text(nil)), "arch": d.Idle(images, d.Text(nil)),
			})
		},
		"manifestConfigurations": d.Refuse("a choice of manifests isn't supported: a service has one folder"),
		"hooks":                  d.Refuse("hooks of services of Serverless aren't supported"),
	}))
	return nil
}

// region is an account of AWS in a region, and the stage's name there.
type region struct {
	aws.Account
	Stage yamldoc.Field[string]
}

func decodeRegion(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	r := &region{}
	d.Fields(v, document.Merge(r.Keys(d), document.Keys{"stage": d.Text(&r.Stage)}))
	d.Need(v, append(r.Needed(), "stage")...)
	return r
}

// Target is the account, the service's folder and its artifacts.
func (p *region) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{Stage: p.Stage.Value}
	var err error
	if t.AWS, t.Selectors, err = p.Reached(r); err != nil {
		return swimlane.Target{}, err
	}
	if t.Stage == "" {
		return swimlane.Target{}, fault.New(fault.Invalid, "the infrastructure definition's stage is empty")
	}
	m, config, err := workspace.OnlyFolder(r, Type)
	if err != nil {
		return swimlane.Target{}, err
	}
	if m != nil {
		t.Application = &Application{Manifest: *m, Config: config}
	}
	source, selectors, err := r.Source()
	if err != nil {
		return swimlane.Target{}, err
	}
	sidecars, more, err := r.Sidecars()
	if err != nil {
		return swimlane.Target{}, err
	}
	t.Artifact, t.Sidecars, t.Selectors = source, sidecars, slices.Concat(t.Selectors, selectors, more)
	image, version, err := r.Artifact()
	if image == "" {
		image = version
	}
	return swimlane.Target{Spec: t, Image: image}, err
}

// Brought is the folder, for DownloadManifests.
func (t *Target) Brought() ([]workspace.Manifest, []string) {
	if t.Application == nil {
		return nil, nil
	}
	return []workspace.Manifest{t.Application.Manifest}, slices.Clone(t.Selectors)
}
