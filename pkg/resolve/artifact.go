package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// primarySource is the service's artifact source: the one that
// primaryArtifactRef names, else the only one, else the legacy form
// (semantics/entities §2.2). Nil if the service has no artifact.
func (arts artifacts) primarySource(d *plan.Deployment) (*yamldoc.Node, error) {
	primary := d.Service.At("serviceDefinition", "spec", "artifacts", "primary")
	if primary.Get("type") != nil {
		return primary, nil
	}
	sources := primary.Get("sources")
	if sources == nil || len(sources.Items) == 0 {
		return nil, nil
	}
	want, err := arts.scope.scalar(primary.Get("primaryArtifactRef"))
	if err != nil {
		return nil, err
	}
	if name := want.Text(); primary.Get("primaryArtifactRef") != nil && name != "" {
		if source := named(sources, name); source != nil {
			return source, nil
		}
		return nil, fault.New(fault.Invalid, "the service has no artifact source %q", name)
	}
	if len(sources.Items) > 1 {
		return nil, fault.New(fault.Invalid, "primary artifact source not selected: the service has %d and no primaryArtifactRef", len(sources.Items))
	}
	return sources.Items[0], nil
}

// results is what looking an artifact up has found, once for the
// stage; nil if there was nothing to look up. It is that of the keys, such as
// primary, or sidecars and an identifier.
func (arts artifacts) results(stage *plan.Node, keys ...string) (map[string]any, error) {
	id := stage.ID + ".spec.service"
	if arts.scope.Plan.Node(id) == nil {
		return nil, nil
	}
	st := arts.scope.State(id)
	if !st.Status.Terminal() {
		return nil, fault.New(fault.UnresolvedExpression, "the artifact of stage %s isn't known before its source was asked", stage.Identifier)
	}
	outputs, err := arts.scope.outputs.outputsOf(id, st)
	if err != nil {
		return nil, err
	}
	at := outputs
	for _, key := range append([]string{"output", "artifactResults"}, keys...) {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	found, _ := at.(map[string]any)
	return found, nil
}

// field resolves artifact.X. Without an artifact everything is null.
func (arts artifacts) field(stage *plan.Node, d *plan.Deployment, path, rest []string) (expr.Value, int, error) {
	source, err := arts.primarySource(d)
	if err != nil || source == nil || len(rest) == 0 {
		return expr.Null(), len(path), err
	}
	if rest[0] == "primaryArtifact" {
		return expr.Bool(true), len(path) - len(rest) + 1, nil
	}
	return arts.sourceField(source, func() (map[string]any, error) { return arts.results(stage, "primary") }, path, rest)
}

// sidecar resolves artifacts.sidecars.ID.X; path[2] is the identifier.
func (arts artifacts) sidecar(stage *plan.Node, d *plan.Deployment, path []string) (expr.Value, int, error) {
	if len(path) < 4 {
		return expr.Null(), 0, unknown("a sidecar needs its identifier and a field, e.g. artifacts.sidecars.proxy.image; found %s", dotted(path))
	}
	source := identified(d.Service.At("serviceDefinition", "spec", "artifacts", "sidecars"), "sidecar", path[2])
	if source == nil {
		return expr.Null(), 0, unknown("the service has no sidecar artifact %q", path[2])
	}
	if path[3] == "primaryArtifact" {
		return expr.Bool(false), 4, nil
	}
	return arts.sourceField(source, func() (map[string]any, error) {
		if !arts.scope.Artifacts.LookedUp(source) {
			return nil, nil
		}
		return arts.results(stage, "sidecars", path[2])
	}, path, path[3:])
}

// sourceField resolves a field of an artifact by its source and, where that
// doesn't say, by what was found when it was looked up.
func (arts artifacts) sourceField(
	source *yamldoc.Node, lookedUp func() (map[string]any, error), path, rest []string,
) (expr.Value, int, error) {
	used := len(path) - len(rest) + 1
	switch rest[0] {
	case "identifier", "type":
		return arts.scope.deployments().constant(source.Get(rest[0]), used)
	case "imagePath", "connectorRef", "region", "registryId", "bucketName":
		return arts.scope.deployments().constant(source.At("spec", rest[0]), used)
	}
	found, err := lookedUp()
	if err != nil {
		return expr.Null(), 0, err
	}
	switch rest[0] {
	case "tag", "version", "build", "filePath":
		v, err := arts.version(source, found)
		return v, used, err
	case "image":
		v, err := arts.image(source, found)
		return v, used, err
	case "metadata":
		return arts.metadata(path, rest, source, found)
	case "label", "digest": // what its source knows
		if v, ok := found[rest[0]]; ok {
			return expr.FromAny(v), used, nil
		}
		return arts.scope.deployments().constant(source.At("spec", rest[0]), used)
	case "path", "artifactPath", "url", "fileName", "jobName", "bucket", "repository", "package", "packageName", "groupId", "artifactId":
		metadata, _ := found["metadata"].(map[string]any)
		if v, ok := metadata[rest[0]]; ok {
			return expr.FromAny(v), used, nil
		}
		return arts.scope.deployments().constant(source.At("spec", rest[0]), used)
	case "imagePullSecret":
		v, err := arts.pullSecret(source, task.PullDockerCfg)
		return v, used, err
	case "dockerConfigJsonSecret":
		v, err := arts.pullSecret(source, task.PullDockerConfigJSON)
		return v, used, err
	}
	return expr.Null(), 0, unknown("the artifact has no %q", rest[0])
}

// version is the version that was found, else the fixed one.
func (arts artifacts) version(source *yamldoc.Node, found map[string]any) (expr.Value, error) {
	if v, ok := found["version"]; ok {
		return expr.FromAny(v), nil
	}
	written := arts.scope.Artifacts.Written(source)
	if written == nil {
		return expr.Null(), noSource(source)
	}
	return arts.scope.scalar(source.At("spec", written.Common().FixedKey))
}

// image is the image that was found, else that of the fixed tag. What
// isn't an image has none.
func (arts artifacts) image(source *yamldoc.Node, found map[string]any) (expr.Value, error) {
	if v, ok := found["image"]; ok {
		return expr.FromAny(v), nil
	}
	a, err := arts.artifactOf(source)
	if err != nil {
		return expr.Null(), err
	}
	image, err := a.Image()
	if err != nil || image == "" {
		return expr.Null(), err
	}
	return expr.String(image), nil
}

// metadata resolves artifact.metadata.X. What its source doesn't tell
// is null.
func (arts artifacts) metadata(path, rest []string, source *yamldoc.Node, found map[string]any) (expr.Value, int, error) {
	used := len(path) - len(rest) + 2
	metadata, _ := found["metadata"].(map[string]any)
	if len(rest) == 1 {
		return expr.FromAny(metadata), used - 1, nil
	}
	if v, ok := metadata[rest[1]]; ok {
		return expr.FromAny(v), used, nil
	}
	if of, ok := arts.scope.Artifacts.Written(source).(artifact.Objects); ok && of.Knows(rest[1]) {
		v, err := arts.object(source, rest[1])
		return v, used, err
	}
	switch rest[1] {
	case "url", "image":
		v, err := arts.image(source, found)
		return v, used, err
	case "tag":
		v, err := arts.version(source, found)
		return v, used, err
	case "region", "bucketName":
		return arts.scope.deployments().constant(source.At("spec", rest[1]), used)
	case "artifactPath", "key", "fileName":
		return expr.Null(), used, nil
	}
	return expr.Null(), len(path), nil
}

// object is what is known of a file by its place.
func (arts artifacts) object(source *yamldoc.Node, name string) (expr.Value, error) {
	_, of, err := arts.decoded(source)
	if err != nil {
		return expr.Null(), err
	}
	objects, ok := of.(artifact.Objects)
	if !ok {
		return expr.Null(), nil
	}
	return expr.String(objects.Metadata(name)), nil
}

// output resolves what the console of Harness shows of a stage's
// service: output.artifactResults.primary.X (semantics/entities §2.2).
func (arts artifacts) output(stage *plan.Node, d *plan.Deployment, path []string) (expr.Value, int, bool, error) {
	at := slices.Index(path, "output")
	if at < 0 || len(path) < at+4 || path[at+1] != "artifactResults" || path[at+2] != "primary" {
		return expr.Null(), 0, false, nil
	}
	v, used, err := arts.field(stage, d, path, path[at+3:])
	return v, used, true, err
}
