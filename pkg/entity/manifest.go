package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
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

// Manifest is one of a service's manifests (semantics/entities §2.3). Which
// fields it has depends on its type.
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
			d.Errorf(v, document.Ambiguous, "found a %s and a %s; a service has one main manifest", first, m.Type.Value)
			return out
		}
	}
	return out
}

func (d *decoder) manifestList(v yamldoc.Value, types ...string) []Manifest {
	var out []Manifest
	ids := document.Seen{}
	for item := range d.Items(v) {
		var one Manifest
		d.Fields(item, document.Keys{"manifest": func(v yamldoc.Value) {
			one = d.manifest(v, types)
			d.Unique(ids, v, one.Identifier.Value)
		}})
		d.Need(item, "manifest")
		out = append(out, one)
	}
	return out
}

func (d *decoder) manifest(v yamldoc.Value, types []string) Manifest {
	var m Manifest
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"identifier": func(v yamldoc.Value) { m.Identifier = d.Identifier(v, ref.CheckNodeID) },
		"type": func(v yamldoc.Value) {
			d.Supported(&m.Type, "manifest type", types, otherManifestTypes()...)(v)
		},
		"spec": func(v yamldoc.Value) {
			if slices.Contains(types, typ) {
				d.Fields(v, d.manifestSpec(&m, typ))
				d.manifestNeeds(v, typ)
			}
		},
	})
	d.Need(v, "identifier", "type", "spec")
	return m
}

// manifestSpec are the keys of a type's spec.
func (d *decoder) manifestSpec(m *Manifest, typ string) document.Keys {
	known := document.Keys{
		"store":    func(v yamldoc.Value) { d.store(v, typ, m) },
		"metadata": document.Nothing, // the console's
	}
	optional := document.Keys{"optionalValuesYaml": d.Flag(&m.OptionalValuesYAML)}
	switch typ {
	case ManifestRepo:
		return document.Keys{
			"connectorRef": d.reference(ref.Connector, &m.Store.Charts),
			"type":         d.Supported(&m.Store.Type, "repository of charts", chartStores()),
			"metadata":     document.Nothing,
		}
	case ManifestValues:
		return document.Merge(known, optional)
	case ManifestPatches, ManifestParams:
		return known
	case ManifestOpenshift:
		return document.Merge(known, d.release(m), document.Keys{"paramsPaths": d.Words(&m.ParamsPaths)})
	case ManifestK8s:
		return document.Merge(known, optional, d.release(m), document.Keys{"valuesPaths": d.Words(&m.ValuesPaths)})
	case ManifestHelm:
		return document.Merge(known, optional, d.release(m), d.helmChart(&m.Chart), document.Keys{"valuesPaths": d.Words(&m.ValuesPaths)})
	case ManifestKustomize:
		return document.Merge(known, d.release(m), d.kustomize(&m.Kustomize))
	}
	return known
}

// manifestNeeds reports what a type's spec lacks.
func (d *decoder) manifestNeeds(v yamldoc.Value, typ string) {
	if typ == ManifestRepo {
		d.Need(v, "connectorRef", "type")
		return
	}
	d.Need(v, "store")
	store := document.Peek(document.Child(v, "store"), "type")
	if typ == ManifestHelm && slices.Contains(chartStores(), store) {
		d.Need(v, "chartName")
	}
}

// release are the keys about what a release keeps.
func (d *decoder) release(m *Manifest) document.Keys {
	return document.Keys{
		"skipResourceVersioning":    d.Flag(&m.SkipVersioning),
		"enableDeclarativeRollback": d.Flag(&m.Declarative),
	}
}

func (d *decoder) helmChart(c *HelmChart) document.Keys {
	return document.Keys{
		"chartName":              d.Text(&c.Name),
		"chartVersion":           d.Text(&c.Version),
		"helmVersion":            d.helmVersion(&c.HelmVersion),
		"subChartPath":           d.Text(&c.SubChartPath),
		"fetchHelmChartMetadata": func(v yamldoc.Value) { d.Bool(v) },
		"commandFlags": d.commandFlags(&c.Flags, task.CheckHelmFlag, "Fetch", "Template", "Pull", "Install", "Upgrade", "Rollback", "History",
			"Delete", "Uninstall", "List", "Add", "Update", "Version", "Test"),
	}
}

// helmVersion decodes which Helm a chart is for. Helm 2 has been out of
// support since 2020.
func (d *decoder) helmVersion(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Word(f, "V2", "V3", "V380", "V4")(v)
		d.Without(v, "V2", f.Value == "V2", "charts can't be deployed with Helm 2; want V3, V380 or V4")
	}
}

func (d *decoder) kustomize(k *Kustomize) document.Keys {
	return document.Keys{
		"patchesPaths": d.Words(&k.PatchesPaths),
		"pluginPath":   d.Refuse("plugins of Kustomize aren't supported"),
		"overlayConfiguration": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"kustomizeYamlFolderPath": d.Text(&k.Folder)})
			d.Need(v, "kustomizeYamlFolderPath")
		},
		"commandFlags": d.commandFlags(&k.Flags, task.CheckKustomizeFlag, "Build"),
	}
}

// commandFlags decodes flags of commands; check says what is wrong with one.
func (d *decoder) commandFlags(list *[]CommandFlag, check func(command, flag string) error, commands ...string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		for item := range d.Items(v) {
			var f CommandFlag
			d.Fields(item, document.Keys{"commandType": d.Word(&f.Command, commands...), "flag": d.Text(&f.Flag)})
			d.Need(item, "commandType", "flag")
			if slices.Contains(commands, f.Command.Value) && f.Flag.Set && f.Flag.Expr == "" {
				d.refused(document.Child(item, "flag"), check(f.Command.Value, f.Flag.Value))
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
		d.Errorf(v, document.WrongValue, "%s", err)
	}
}
