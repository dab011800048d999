package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Environment is an environment's document (semantics/entities §3).
type Environment struct {
	Type      yamldoc.Field[string] // Production or PreProduction
	Color     yamldoc.Field[string]
	Variables []Variable
	// Values are the values files that override those of services.
	Values      []Manifest
	ConfigFiles []ConfigFile
	// Clusters are those of GitOps that are linked to it.
	Clusters []gitOpsCluster
}

func (d environments) environment(v yamldoc.Value, e *Entity) *Environment {
	env := &Environment{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"type":           d.Literal(&env.Type, "Production", "PreProduction"),
		"color":          d.Text(&env.Color),
		"variables":      d.variables(&env.Variables),
		"gitOpsClusters": func(v yamldoc.Value) { env.Clusters = pulled(d).linkedClusters(v) },
		"overrides": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"manifests": func(v yamldoc.Value) {
					env.Values = services(d).overridingManifests(v)
				},
				"configFiles":         func(v yamldoc.Value) { env.ConfigFiles = services(d).configFiles(v) },
				"applicationSettings": d.Never("application settings are those of Azure Web Apps, which aren't supported"),
				"connectionStrings":   d.Never("connection strings are those of Azure Web Apps, which aren't supported"),
			})
		},
	}))
	d.Need(v, "identifier", "name", "type")
	return env
}
