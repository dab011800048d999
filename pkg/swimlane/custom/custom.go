// Package custom is the deployment type CustomDeployment: what is deployed by
// the steps of a stage to places that only a deployment template knows, whose
// script finds the instances (semantics/pipeline §9.6).
//
// The script is run, and what it writes is read, by delegate/instances.
package custom

import (
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type is the deployment type, and the type of its infrastructure definitions.
const Type = "CustomDeployment"

// Lane describes the deployment type.
func Lane() swimlane.Lane {
	return swimlane.Lane{
		Type: Type, Service: decodeService, Template: decodeTemplate,
		Infrastructures: []swimlane.Infrastructure{{Type: Type, New: decodePlace}}, Steps: step.Names(Steps()), Finds: findsInstances,
		Kinds: []swimlane.Kind{{Name: Kind, Fetched: swimlane.FetchesNothing}},
	}
}

// decodeService decodes the spec of a service's definition, of which nothing is
// needed later but what all services have.
func decodeService(d *swimlane.Decoder, v yamldoc.Value) any {
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"customDeploymentRef":    d.Template,
		"manifests":              d.Refuse("manifests of custom deployments aren't supported"),
		"manifestConfigurations": d.Refuse("manifests of custom deployments aren't supported"),
		"hooks":                  d.Refuse("hooks of custom deployments aren't supported"),
	}))
	d.Need(v, "customDeploymentRef")
	return nil
}

// place is wherever the template's script looks.
type place struct{}

func decodePlace(d *swimlane.Decoder, v yamldoc.Value) swimlane.Place {
	d.Fields(v, document.Merge(d.Common, document.Keys{
		"customDeploymentRef": d.Template,
		"variables":           d.Variables,
		"metadata":            document.Nothing, // the console's
	}))
	d.Need(v, "customDeploymentRef")
	return place{}
}

// Target is how a delegate finds the instances.
func (place) Target(r swimlane.Reach) (swimlane.Target, error) {
	of, err := r.Template()
	if err != nil {
		return swimlane.Target{}, err
	}
	t, ok := of.(*Template)
	if !ok {
		return swimlane.Target{}, fmt.Errorf("the deployment template is a %T; want a %T", of, t)
	}
	script, err := t.script(r)
	if err != nil {
		return swimlane.Target{}, fmt.Errorf("the script of the deployment template: %w", err)
	}
	out := &Instances{
		Script: task.Shell{Shell: "Bash", Script: script}, List: t.List.Value, Attributes: map[string]string{},
	}
	for _, a := range t.Attributes {
		out.Attributes[a.Name.Value] = a.Path.Value
	}
	for _, name := range slices.Backward(instanceNames()) {
		if path, ok := out.Attributes[name]; ok {
			out.Name = path
		}
	}
	image, version, err := r.Artifact()
	if image == "" {
		image = version
	}
	return swimlane.Target{Spec: out, Image: image}, err
}
