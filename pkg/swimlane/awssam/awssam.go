// Package awssam is the deployment type AWS_SAM: an application of the AWS
// Serverless Application Model, whose folder is the service's manifest
// (semantics/entities §2.3).
//
// Its steps have sam do the work, as delegate/awssam runs it.
package awssam

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "AWS_SAM"

// directory is the kind of its manifests.
const directory = "AwsSamDirectory"

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService,
		Manifests:       []swimlane.ManifestKind{workspace.Folder(directory, "samTemplateFile"), kubernetes.ValuesKind()},
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodeRegion, Key: []string{"connectorRef", "region"}}},
		Steps:           step.Names(Steps()),
		Kinds:           []swimlane.Kind{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}},
	}
}

// decodeService decodes the spec of a service's definition, of which nothing is
// needed later but what all services have.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"artifacts":              d.Refuse("sam builds and packages what it deploys; artifacts of an AWS_SAM service aren't supported"),
		"manifestConfigurations": d.Refuse("a choice of manifests isn't supported: a service has one application"),
		"hooks":                  d.Refuse("hooks of applications aren't supported"),
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

// Target is the account and the application.
func (p *region) Target(r swimlane.Reach) (swimlane.Target, error) {
	t := &Target{}
	var err error
	if t.AWS, t.Selectors, err = p.Reached(r); err != nil {
		return swimlane.Target{}, err
	}
	m, template, err := workspace.OnlyFolder(r, directory)
	if err != nil {
		return swimlane.Target{}, err
	}
	if m == nil {
		return swimlane.Target{Spec: t}, nil
	}
	t.Application = &Application{Manifest: *m, Template: template}
	values, more, err := kubernetes.Values(r)
	if err != nil {
		return swimlane.Target{}, err
	}
	t.Selectors = append(t.Selectors, more...)
	for _, v := range values {
		if v.Store, err = beside(m.Store, v); err != nil {
			return swimlane.Target{}, err
		}
		t.Application.Values = append(t.Application.Values, v)
	}
	return swimlane.Target{Spec: t}, nil
}

// beside is the store of a layer of values, which may be that of the application.
func beside(app task.Store, v origin.ValuesFile) (task.Store, error) {
	switch {
	case v.Store.Inherited == nil:
		return v.Store, nil
	case app.Git != nil:
		own := *app.Git
		own.Paths = v.Store.Inherited
		return task.Store{Git: &own}, nil
	case app.Files != nil:
		return task.Store{Files: &task.FileStore{Paths: v.Store.Inherited}}, nil
	}
	return task.Store{}, fault.New(fault.Unsupported, "manifest %s inherits its files from the application, which is in a bucket; want that in Git or in the file store", v.ID)
}

// Brought is the application with the values, as they are written, for
// DownloadManifests.
func (t *Target) Brought() ([]workspace.Manifest, []string) {
	if t.Application == nil {
		return nil, nil
	}
	all := []workspace.Manifest{t.Application.Manifest}
	for _, v := range t.Application.Values {
		all = append(all, workspace.Manifest{ID: v.ID, Store: v.Store, Optional: v.Optional})
	}
	return all, slices.Clone(t.Selectors)
}
