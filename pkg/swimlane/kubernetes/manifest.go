package kubernetes

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/task/origin"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The kinds of what stands above a manifest (semantics/entities §2.3): values of
// manifests and charts, patches of kustomizations, parameters of OpenShift's
// templates.
const (
	values  = "Values"
	patches = "KustomizePatches"
	params  = "OpenshiftParam"
	// repository takes another connector for the repository of the chart.
	repository = "HelmRepoOverride"
)

// Manifests are the kinds that a service may have.
func Manifests() []swimlane.ManifestKind {
	main := func(typ string) swimlane.ManifestKind {
		k := manifestKind(typ)
		k.Main, k.Several = true, typ == origin.HelmChart // manifestConfigurations.primaryManifestRef chooses
		return k
	}
	return append([]swimlane.ManifestKind{
		main(origin.PlainManifest), ValuesKind(), main(origin.HelmChart), main(origin.Kustomization), above(repository), above(patches), main(origin.OpenshiftTemplate), above(params),
	}, repos()...)
}

// ValuesKind are the layers of values, which services of other deployment types may
// have, too.
func ValuesKind() swimlane.ManifestKind { return above(values) }

func manifestKind(typ string) swimlane.ManifestKind {
	return swimlane.ManifestKind{Type: typ, New: func(d *document.Decoder, v yamldoc.Value) any { return decodeManifest(d, v, typ) }}
}

// above is a kind of what stands above a manifest.
func above(typ string) swimlane.ManifestKind {
	k := manifestKind(typ)
	k.Several, k.Overrides = true, true
	return k
}

// manifestSpec is the spec of a manifest. Which fields it has depends on its kind.
type manifestSpec struct {
	Store *filesource.Store

	ValuesPaths        yamldoc.Field[[]string]
	SkipVersioning     yamldoc.Field[bool]
	Declarative        yamldoc.Field[bool] // enableDeclarativeRollback
	OptionalValuesYAML yamldoc.Field[bool]

	Chart     chartSpec
	Kustomize kustomizeSpec

	ParamsPaths yamldoc.Field[[]string] // of an OpenshiftTemplate

	// Of a HelmRepoOverride: the connector in place of that of a store of the type.
	Repository struct{ Type, ConnectorRef yamldoc.Field[string] }
}

// chartSpec is what only a Helm chart has.
type chartSpec struct {
	Name         yamldoc.Field[string]
	Version      yamldoc.Field[string]
	HelmVersion  yamldoc.Field[string]
	SubChartPath yamldoc.Field[string]
	Describe     yamldoc.Field[bool] // fetchHelmChartMetadata
	Flags        []origin.CommandFlag
}

// kustomizeSpec is what only a Kustomize manifest has.
type kustomizeSpec struct {
	PatchesPaths yamldoc.Field[[]string]
	Folder       yamldoc.Field[string] // overlayConfiguration.kustomizeYamlFolderPath
	Flags        []origin.CommandFlag
}

// stores is what is wanted of the store of a kind.
func stores(kind string) filesource.Form {
	f := filesource.Form{Of: kind, Stores: filesource.Usual()}
	switch kind {
	case origin.HelmChart:
		f.Stores, f.Shape = append(append(filesource.Git(), filesource.Charts()...), filesource.Harness, filesource.Script), filesource.Folder
	case origin.Kustomization:
		f.Stores, f.Shape = append(filesource.Git(), filesource.Harness), filesource.Folder
	case origin.OpenshiftTemplate:
		f.Shape = filesource.File
	case patches:
		f.Stores = append(filesource.Git(), filesource.Inline, filesource.Harness, filesource.Inherited)
	case values, params:
		f.Stores = append(f.Stores, filesource.Inherited)
	}
	return f
}

func decodeManifest(d *document.Decoder, v yamldoc.Value, kind string) *manifestSpec {
	m := &manifestSpec{}
	if kind == repository {
		d.Fields(v, document.Keys{
			"connectorRef": d.Reference(ref.Connector, &m.Repository.ConnectorRef),
			"type":         d.Supported(&m.Repository.Type, "repository of charts", filesource.Charts()),
			"metadata":     document.Nothing,
		})
		d.Need(v, "connectorRef", "type")
		return m
	}
	d.Fields(v, document.Merge(m.keys(d, kind), document.Keys{
		"store":    func(v yamldoc.Value) { m.Store = filesource.Decode(d, v, stores(kind), m.misplaced(d)) },
		"metadata": document.Nothing, // the console's
	}))
	d.Need(v, "store")
	if store := document.Peek(document.Child(v, "store"), "type"); kind == origin.HelmChart && slices.Contains(filesource.Charts(), store) {
		d.Need(v, "chartName")
	}
	return m
}

// keys are those of a kind besides its store.
func (m *manifestSpec) keys(d *document.Decoder, kind string) document.Keys {
	optional := document.Keys{"optionalValuesYaml": d.Flag(&m.OptionalValuesYAML)}
	paths := document.Keys{"valuesPaths": d.Words(&m.ValuesPaths)}
	switch kind {
	case values:
		return optional
	case origin.PlainManifest:
		return document.Merge(optional, m.release(d), paths)
	case origin.HelmChart:
		return document.Merge(optional, m.release(d), m.Chart.keys(d), paths)
	case origin.Kustomization:
		return document.Merge(m.release(d), m.Kustomize.keys(d))
	case origin.OpenshiftTemplate:
		return document.Merge(m.release(d), document.Keys{"paramsPaths": d.Words(&m.ParamsPaths)})
	}
	return document.Keys{}
}

// release are the keys about what a release keeps.
func (m *manifestSpec) release(d *document.Decoder) document.Keys {
	return document.Keys{
		"skipResourceVersioning":    d.Flag(&m.SkipVersioning),
		"enableDeclarativeRollback": d.Flag(&m.Declarative),
	}
}

// misplaced are the same keys one level too deep, as samples of Harness have
// them.
func (m *manifestSpec) misplaced(d *document.Decoder) document.Keys {
	known := m.release(d)
	for key, decode := range known {
		known[key] = func(v yamldoc.Value) {
			d.Warnf(v, document.MisplacedKey, "%q belongs beside the store, not in it; it is read all the same", key)
			decode(v)
		}
	}
	return known
}

func (c *chartSpec) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"chartName":              d.Text(&c.Name),
		"chartVersion":           d.Text(&c.Version),
		"helmVersion":            helmVersion(d, &c.HelmVersion),
		"subChartPath":           d.Text(&c.SubChartPath),
		"fetchHelmChartMetadata": d.Flag(&c.Describe),
		"commandFlags":           HelmCommandFlags(d, &c.Flags),
	}
}

// helmVersion decodes which Helm a chart is for. Helm 2 has been out of
// support since 2020.
func helmVersion(d *document.Decoder, f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		d.Word(f, "V2", "V3", "V380", "V4")(v)
		d.Without(v, "V2", f.Value == "V2", "charts can't be deployed with Helm 2; want V3, V380 or V4")
	}
}

func (k *kustomizeSpec) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"patchesPaths": d.Words(&k.PatchesPaths),
		"pluginPath":   d.Refuse("plugins of Kustomize aren't supported"),
		"overlayConfiguration": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"kustomizeYamlFolderPath": d.Text(&k.Folder)})
			d.Need(v, "kustomizeYamlFolderPath")
		},
		"commandFlags": commandFlags(d, &k.Flags, origin.CheckKustomizeFlag, "Build"),
	}
}
