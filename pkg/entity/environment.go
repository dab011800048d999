package entity

import "github.com/slipway-cd/slipway/pkg/yamldoc"

// Environment is an environment's document (entities spec §3).
type Environment struct {
	Type      yamldoc.Field[string] // Production or PreProduction
	Color     yamldoc.Field[string]
	Variables []Variable
	// Values are the values files that override those of services.
	Values      []Manifest
	ConfigFiles []ConfigFile
}

func (d *decoder) environment(v yamldoc.Value, e *Entity) *Environment {
	env := &Environment{}
	d.fields(v, merge(d.meta(e), keys{
		"type":      d.literal(&env.Type, "Production", "PreProduction"),
		"color":     d.text(&env.Color),
		"variables": d.variables(&env.Variables),
		"overrides": func(v yamldoc.Value) {
			d.fields(v, keys{
				"manifests": func(v yamldoc.Value) {
					env.Values = d.manifestList(v, ManifestValues, ManifestRepo, ManifestPatches, ManifestParams)
				},
				"configFiles":         func(v yamldoc.Value) { env.ConfigFiles = d.configFiles(v) },
				"applicationSettings": d.never("application settings are those of Azure Web Apps, which aren't supported"),
				"connectionStrings":   d.never("connection strings are those of Azure Web Apps, which aren't supported"),
			})
		},
	}))
	d.need(v, "identifier", "name", "type")
	return env
}
