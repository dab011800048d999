package entity

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Manifest is one of a service's manifests (semantics/entities §2.3).
type Manifest struct {
	Identifier yamldoc.Field[string]
	Type       yamldoc.Field[string]
	SpecDoc    *yamldoc.Node // the spec, as it stands
	Spec       any           // what its kind has read; nil for a kind that isn't known
}

// manifestTypes are all that Harness has.
func manifestTypes() []string {
	return []string{
		"K8sManifest", "Values", "HelmChart", "Kustomize", "HelmRepoOverride", "KustomizePatches", "OpenshiftTemplate", "OpenshiftParam",
		"ServerlessAwsLambda", "ReleaseRepo",
		"DeploymentRepo", "EcsTaskDefinition", "EcsServiceDefinition", "EcsScalableTargetDefinition",
		"EcsScalingPolicyDefinition", "TasManifest", "TasVars", "TasAutoScaler", "AsgLaunchTemplate", "AsgConfiguration",
		"AsgAdditionalConfiguration", "AsgScalingPolicy", "AsgScheduledUpdateGroupAction", "GoogleCloudFunctionDefinition",
		"GoogleCloudFunctionGenOneDefinition", "AwsLambdaFunctionDefinition", "AwsLambdaFunctionAliasDefinition",
		"AwsSamDirectory", "GoogleMigInstanceTemplate", "GoogleMigConfiguration", "GoogleMigAutoscalerConfiguration",
		"GoogleMigHealthCheckConfiguration", "AgentConfig",
	}
}

// manifests decodes the manifests of a service, of which one may be the main
// one, or several of a kind that lets the service choose.
func (d services) manifests(v yamldoc.Value, kinds []swimlane.ManifestKind) []Manifest {
	out := d.manifestList(v, kinds)
	first := ""
	for n, m := range out {
		i := slices.IndexFunc(kinds, func(k swimlane.ManifestKind) bool { return k.Type == m.Type.Value })
		if i < 0 {
			continue
		}
		same := slices.ContainsFunc(out[:n], func(o Manifest) bool { return o.Type.Value == m.Type.Value })
		switch kind := kinds[i]; {
		case kind.Main && first != "" && (first != kind.Type || !kind.Several):
			d.Errorf(v, document.Ambiguous, "found a %s and a %s; a service has one main manifest", first, m.Type.Value)
			return out
		case kind.Main:
			first = kind.Type
		case same && !kind.Several:
			d.Errorf(v, document.Ambiguous, "found two manifests of the type %s; a service has one", kind.Type)
			return out
		}
	}
	return out
}

// overridingManifests decodes the manifests of an environment or of overrides.
func (d services) overridingManifests(v yamldoc.Value) []Manifest {
	kinds := slices.DeleteFunc(d.options.Lanes.Manifests(), func(k swimlane.ManifestKind) bool { return !k.Overrides })
	return d.manifestList(v, kinds)
}

func (d services) manifestList(v yamldoc.Value, kinds []swimlane.ManifestKind) []Manifest {
	var out []Manifest
	ids := document.Seen{}
	for item := range d.Items(v) {
		var one Manifest
		d.Fields(item, document.Keys{"manifest": func(v yamldoc.Value) {
			one = d.manifest(v, kinds)
			d.Unique(ids, v, one.Identifier.Value)
		}})
		d.Need(item, "manifest")
		out = append(out, one)
	}
	return out
}

func (d services) manifest(v yamldoc.Value, kinds []swimlane.ManifestKind) Manifest {
	var m Manifest
	can, others := typesOf(kinds), without(manifestTypes(), typesOf(d.options.Lanes.Manifests()))
	i := slices.Index(can, document.Peek(v, "type"))
	d.Fields(v, document.Keys{
		"identifier": func(v yamldoc.Value) { m.Identifier = d.Identifier(v, ref.CheckNodeID) },
		"type":       d.Supported(&m.Type, "manifest type", can, others...),
		"spec": func(v yamldoc.Value) {
			if m.SpecDoc = v.Node; i >= 0 {
				m.Spec = kinds[i].New(d.Decoder, v)
			}
		},
	})
	d.Need(v, "identifier", "type", "spec")
	return m
}

func typesOf(kinds []swimlane.ManifestKind) []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.Type)
	}
	return out
}
