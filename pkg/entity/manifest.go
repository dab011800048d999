package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The types of a manifest that can be saved.
const (
	ManifestK8s       = "K8sManifest"
	ManifestValues    = "Values"
	ManifestHelm      = "HelmChart"
	ManifestKustomize = "Kustomize"
	// ManifestRepo takes another connector for the repository of the chart.
	ManifestRepo = "HelmRepoOverride"
	// ManifestPatches is a layer of patches of a Kustomize manifest.
	ManifestPatches = "KustomizePatches"
	// ManifestOpenshift is one OpenShift template.
	ManifestOpenshift = "OpenshiftTemplate"
	// ManifestParams is a layer of parameters of an OpenShift template.
	ManifestParams = "OpenshiftParam"
)

// Manifest is one of a service's manifests (entities spec §2.3). Which fields
// it has depends on its type.
type Manifest struct {
	Identifier yamldoc.Field[string]
	Type       yamldoc.Field[string]
	Store      Store

	ValuesPaths        yamldoc.Field[[]string]
	SkipVersioning     yamldoc.Field[bool]
	Declarative        yamldoc.Field[bool] // enableDeclarativeRollback
	OptionalValuesYAML yamldoc.Field[bool]

	Chart     HelmChart
	Kustomize Kustomize

	ParamsPaths yamldoc.Field[[]string] // of an OpenshiftTemplate
}

// HelmChart is what only a Helm chart has.
type HelmChart struct {
	Name         yamldoc.Field[string]
	Version      yamldoc.Field[string]
	HelmVersion  yamldoc.Field[string]
	SubChartPath yamldoc.Field[string]
	Flags        []CommandFlag
}

// Kustomize is what only a Kustomize manifest has.
type Kustomize struct {
	PatchesPaths yamldoc.Field[[]string]
	Folder       yamldoc.Field[string] // overlayConfiguration.kustomizeYamlFolderPath
	Flags        []CommandFlag
}

// CommandFlag is a flag of a command that is run for the user.
type CommandFlag struct {
	Command yamldoc.Field[string]
	Flag    yamldoc.Field[string]
}

// otherManifestTypes are those that can't be saved yet.
func otherManifestTypes() []string {
	return []string{
		"ServerlessAwsLambda", "ReleaseRepo",
		"DeploymentRepo", "EcsTaskDefinition", "EcsServiceDefinition", "EcsScalableTargetDefinition",
		"EcsScalingPolicyDefinition", "TasManifest", "TasVars", "TasAutoScaler", "AsgLaunchTemplate", "AsgConfiguration",
		"AsgAdditionalConfiguration", "AsgScalingPolicy", "AsgScheduledUpdateGroupAction", "GoogleCloudFunctionDefinition",
		"GoogleCloudFunctionGenOneDefinition", "AwsLambdaFunctionDefinition", "AwsLambdaFunctionAliasDefinition",
		"AwsSamDirectory", "GoogleMigInstanceTemplate", "GoogleMigConfiguration", "GoogleMigAutoscalerConfiguration",
		"GoogleMigHealthCheckConfiguration", "AgentConfig",
	}
}

// manifests decodes a list of manifests, of which one may be the main one.
func (d *decoder) manifests(v yamldoc.Value) []Manifest {
	out := d.manifestList(v, ManifestK8s, ManifestValues, ManifestHelm, ManifestKustomize, ManifestRepo, ManifestPatches, ManifestOpenshift, ManifestParams)
	first := ""
	for _, m := range out {
		switch {
		case !slices.Contains([]string{ManifestK8s, ManifestHelm, ManifestKustomize, ManifestOpenshift}, m.Type.Value):
		case first == "":
			first = m.Type.Value
		case first == ManifestHelm && m.Type.Value == ManifestHelm: // manifestConfigurations.primaryManifestRef chooses
		default:
			d.Errorf(v, ambiguous, "found a %s and a %s; a service has one main manifest", first, m.Type.Value)
			return out
		}
	}
	return out
}

func (d *decoder) manifestList(v yamldoc.Value, types ...string) []Manifest {
	var out []Manifest
	ids := seen{}
	for item := range d.list(v) {
		var one Manifest
		d.fields(item, keys{"manifest": func(v yamldoc.Value) {
			one = d.manifest(v, types)
			d.unique(ids, v, one.Identifier.Value)
		}})
		d.need(item, "manifest")
		out = append(out, one)
	}
	return out
}

func (d *decoder) manifest(v yamldoc.Value, types []string) Manifest {
	var m Manifest
	typ := peek(v, "type")
	d.fields(v, keys{
		"identifier": func(v yamldoc.Value) { m.Identifier = d.identifier(v, ref.CheckNodeID) },
		"type": func(v yamldoc.Value) {
			d.supported(&m.Type, "manifest type", types, otherManifestTypes()...)(v)
		},
		"spec": func(v yamldoc.Value) {
			if slices.Contains(types, typ) {
				d.fields(v, d.manifestSpec(&m, typ))
				d.manifestNeeds(v, typ)
			}
		},
	})
	d.need(v, "identifier", "type", "spec")
	return m
}

// manifestSpec are the keys of a type's spec.
func (d *decoder) manifestSpec(m *Manifest, typ string) keys {
	known := keys{
		"store":    func(v yamldoc.Value) { d.store(v, typ, m) },
		"metadata": func(yamldoc.Value) {}, // the console's
	}
	optional := keys{"optionalValuesYaml": d.flag(&m.OptionalValuesYAML)}
	switch typ {
	case ManifestRepo:
		return keys{
			"connectorRef": d.reference(ref.Connector, &m.Store.Charts),
			"type":         d.supported(&m.Store.Type, "repository of charts", chartStores()),
			"metadata":     func(yamldoc.Value) {},
		}
	case ManifestValues:
		return merge(known, optional)
	case ManifestPatches, ManifestParams:
		return known
	case ManifestOpenshift:
		return merge(known, d.release(m), keys{"paramsPaths": d.words(&m.ParamsPaths)})
	case ManifestK8s:
		return merge(known, optional, d.release(m), keys{"valuesPaths": d.words(&m.ValuesPaths)})
	case ManifestHelm:
		return merge(known, optional, d.release(m), d.helmChart(&m.Chart), keys{"valuesPaths": d.words(&m.ValuesPaths)})
	case ManifestKustomize:
		return merge(known, d.release(m), d.kustomize(&m.Kustomize))
	}
	return known
}

// manifestNeeds reports what a type's spec lacks.
func (d *decoder) manifestNeeds(v yamldoc.Value, typ string) {
	if typ == ManifestRepo {
		d.need(v, "connectorRef", "type")
		return
	}
	d.need(v, "store")
	store := peek(child(v, "store"), "type")
	if typ == ManifestHelm && slices.Contains(chartStores(), store) {
		d.need(v, "chartName")
	}
}

// release are the keys about what a release keeps.
func (d *decoder) release(m *Manifest) keys {
	return keys{
		"skipResourceVersioning":    d.flag(&m.SkipVersioning),
		"enableDeclarativeRollback": d.flag(&m.Declarative),
	}
}

func (d *decoder) helmChart(c *HelmChart) keys {
	return keys{
		"chartName":              d.text(&c.Name),
		"chartVersion":           d.text(&c.Version),
		"helmVersion":            d.helmVersion(&c.HelmVersion),
		"subChartPath":           d.text(&c.SubChartPath),
		"fetchHelmChartMetadata": func(v yamldoc.Value) { d.Bool(v) },
		"commandFlags": d.commandFlags(&c.Flags, task.CheckHelmFlag, "Fetch", "Template", "Pull", "Install", "Upgrade", "Rollback", "History",
			"Delete", "Uninstall", "List", "Add", "Update", "Version", "Test"),
	}
}

// helmVersion decodes which Helm a chart is for. Helm 2 has been out of
// support since 2020.
func (d *decoder) helmVersion(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.word(f, "V2", "V3", "V380", "V4")(v)
		if f.Value == "V2" {
			d.Unsupported(v, "charts can't be deployed with Helm 2; want V3, V380 or V4")
		}
	}
}

func (d *decoder) kustomize(k *Kustomize) keys {
	return keys{
		"patchesPaths": d.words(&k.PatchesPaths),
		"pluginPath":   d.refuse("plugins of Kustomize aren't supported"),
		"overlayConfiguration": func(v yamldoc.Value) {
			d.fields(v, keys{"kustomizeYamlFolderPath": d.text(&k.Folder)})
			d.need(v, "kustomizeYamlFolderPath")
		},
		"commandFlags": d.commandFlags(&k.Flags, task.CheckKustomizeFlag, "Build"),
	}
}

// commandFlags decodes flags of commands; check says what is wrong with one.
func (d *decoder) commandFlags(list *[]CommandFlag, check func(command, flag string) error, commands ...string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		for item := range d.list(v) {
			var f CommandFlag
			d.fields(item, keys{"commandType": d.word(&f.Command, commands...), "flag": d.text(&f.Flag)})
			d.need(item, "commandType", "flag")
			if slices.Contains(commands, f.Command.Value) && f.Flag.Set && f.Flag.Expr == "" {
				d.refused(child(item, "flag"), check(f.Command.Value, f.Flag.Value))
			}
			*list = append(*list, f)
		}
	}
}

// refused reports an error of a check, if there is one.
func (d *decoder) refused(v yamldoc.Value, err error) {
	switch {
	case fault.Is(err, fault.Unsupported):
		d.Unsupported(v, "%s", err)
	case err != nil:
		d.Errorf(v, wrongValue, "%s", err)
	}
}
