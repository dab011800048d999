package entity

import (
	"slices"

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
	PrimaryRef  yamldoc.Field[string] // manifestConfigurations.primaryManifestRef
	Hooks       []Hook
	ConfigFiles []ConfigFile
	CustomRef   TemplateRef // of a custom deployment
}

func (d *decoder) service(v yamldoc.Value, e *Entity) *Service {
	s := &Service{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"serviceDefinition": func(v yamldoc.Value) { d.serviceDefinition(v, s) },
		"gitOpsEnabled":     d.Refuse("GitOps services aren't supported"),
	}))
	d.Need(v, "identifier", "name")
	return s
}

func (d *decoder) serviceDefinition(v yamldoc.Value, s *Service) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.deploymentType(&s.Type),
		"spec": func(v yamldoc.Value) {
			if slices.Contains(otherDeploymentTypes(), typ) {
				return // the type is refused already; its keys aren't known here
			}
			d.serviceSpec(v, typ, s)
		},
		"description": document.Nothing,
	})
	d.Need(v, "type", "spec")
}

func (d *decoder) serviceSpec(v yamldoc.Value, typ string, s *Service) {
	known := document.Keys{
		"variables":              d.variables(&s.Variables),
		"artifacts":              func(v yamldoc.Value) { d.artifacts(v, &s.Artifact) },
		"manifests":              func(v yamldoc.Value) { s.Manifests = d.manifests(v) },
		"manifestConfigurations": func(v yamldoc.Value) { d.manifestConfigurations(v, s) },
		"hooks":                  func(v yamldoc.Value) { s.Hooks = d.hooks(v) },
		"configFiles":            func(v yamldoc.Value) { s.ConfigFiles = d.configFiles(v) },
		"description":            document.Nothing,
	}
	if typ == DeployCustom {
		known = document.Merge(known, d.customService(s))
	}
	d.Fields(v, known)
	if typ == DeployCustom {
		d.Need(v, "customDeploymentRef")
	}
}

func (d *decoder) manifestConfigurations(v yamldoc.Value, s *Service) {
	d.Fields(v, document.Keys{"primaryManifestRef": func(v yamldoc.Value) {
		s.PrimaryRef = d.String(v)
		d.Fixed(v, s.PrimaryRef.Expr)
	}})
}
