package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Service is a service's document (entities spec §2).
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
	d.fields(v, merge(d.meta(e), keys{
		"serviceDefinition": func(v yamldoc.Value) { d.serviceDefinition(v, s) },
		"gitOpsEnabled":     d.refuse("GitOps services aren't supported"),
	}))
	d.need(v, "identifier", "name")
	return s
}

func (d *decoder) serviceDefinition(v yamldoc.Value, s *Service) {
	typ := peek(v, "type")
	d.fields(v, keys{
		"type": d.deploymentType(&s.Type),
		"spec": func(v yamldoc.Value) {
			if slices.Contains(otherDeploymentTypes(), typ) {
				return // the type is refused already; its keys aren't known here
			}
			d.serviceSpec(v, typ, s)
		},
		"description": func(yamldoc.Value) {},
	})
	d.need(v, "type", "spec")
}

func (d *decoder) serviceSpec(v yamldoc.Value, typ string, s *Service) {
	known := keys{
		"variables":              d.variables(&s.Variables),
		"artifacts":              func(v yamldoc.Value) { d.artifacts(v, &s.Artifact) },
		"manifests":              func(v yamldoc.Value) { s.Manifests = d.manifests(v) },
		"manifestConfigurations": func(v yamldoc.Value) { d.manifestConfigurations(v, s) },
		"hooks":                  func(v yamldoc.Value) { s.Hooks = d.hooks(v) },
		"configFiles":            func(v yamldoc.Value) { s.ConfigFiles = d.configFiles(v) },
		"description":            func(yamldoc.Value) {},
	}
	if typ == DeployCustom {
		known = merge(known, d.customService(s))
	}
	d.fields(v, known)
	if typ == DeployCustom {
		d.need(v, "customDeploymentRef")
	}
}

func (d *decoder) manifestConfigurations(v yamldoc.Value, s *Service) {
	d.fields(v, keys{"primaryManifestRef": func(v yamldoc.Value) {
		s.PrimaryRef = d.String(v)
		d.fixed(v, s.PrimaryRef.Expr)
	}})
}
