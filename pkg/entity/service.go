package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Service is a service's document (semantics/entities §2).
type Service struct {
	// Type is the deployment type; not set while the service has no definition.
	Type        yamldoc.Field[string]
	Variables   []Variable
	Artifact    Artifact
	Manifests   []Manifest
	ConfigFiles []ConfigFile
	CustomRef   TemplateRef   // of a custom deployment
	SpecDoc     *yamldoc.Node // the definition's spec, as it stands
	Spec        any           // what the lane has read of it; nil for nothing
	GitOps      yamldoc.Field[bool]
}

func (d services) service(v yamldoc.Value, e *Entity) *Service {
	s := &Service{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"serviceDefinition": func(v yamldoc.Value) { d.serviceDefinition(v, s) },
		"gitOpsEnabled":     d.Decided(&s.GitOps),
	}))
	d.Need(v, "identifier", "name")
	return s
}

func (d services) serviceDefinition(v yamldoc.Value, s *Service) {
	lane, ok := d.options.Lanes.Of(document.Peek(v, "type"))
	d.Fields(v, document.Keys{
		"type": d.deploymentType(&s.Type),
		"spec": func(v yamldoc.Value) {
			if s.SpecDoc = v.Node; !ok {
				return // the type is refused already; its keys aren't known here
			}
			s.Spec = lane.Service(d.lane(document.Keys{
				"variables":   d.variables(&s.Variables),
				"artifacts":   func(v yamldoc.Value) { d.artifacts(v, &s.Artifact) },
				"manifests":   func(v yamldoc.Value) { s.Manifests = d.manifests(v, lane.Manifests) },
				"configFiles": func(v yamldoc.Value) { s.ConfigFiles = d.configFiles(v) },
				"description": document.Nothing,
			}, &[]Variable{}, &s.CustomRef), v)
		},
		"description": document.Nothing,
	})
	d.Need(v, "type", "spec")
}
