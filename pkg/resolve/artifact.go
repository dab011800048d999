package resolve

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
)

// primarySource is the service's artifact source: the one that
// primaryArtifactRef names, else the only one, else the legacy form
// (semantics/entities §2.2). Nil if the service has no artifact.
func (arts artifacts) primarySource(d *deployed) (*entity.ArtifactSource, error) {
	of := d.service.Artifact
	switch n := len(of.Sources); {
	case n == 0:
		return nil, nil
	case of.Single:
		return &of.Sources[n-1], nil
	}
	want, err := field(arts.scope, of.PrimaryRef)
	if err != nil {
		return nil, err
	}
	if name := known(want); name != "" {
		if found := sourceNamed(of.Sources, name); found != nil {
			return found, nil
		}
		return nil, fault.New(fault.Invalid, "the service has no artifact source %q", name)
	}
	if len(of.Sources) > 1 {
		return nil, fault.New(fault.Invalid, "primary artifact source not selected: the service has %d and no primaryArtifactRef", len(of.Sources))
	}
	return &of.Sources[0], nil
}

// sourceNamed finds a source by its identifier, or its name.
func sourceNamed(list []entity.ArtifactSource, name string) *entity.ArtifactSource {
	i := slices.IndexFunc(list, func(s entity.ArtifactSource) bool { return s.Identifier.Text == name || s.Name.Text == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// lookedUp says whether a delegate must ask a source.
func lookedUp(source *entity.ArtifactSource) bool {
	return source.Source == nil || source.Source.LookedUp()
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
func (arts artifacts) field(stage *plan.Node, d *deployed, path, rest []string) (expr.Value, int, error) {
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
func (arts artifacts) sidecar(stage *plan.Node, d *deployed, path []string) (expr.Value, int, error) {
	if len(path) < 4 {
		return expr.Null(), 0, unknown("a sidecar needs its identifier and a field, e.g. artifacts.sidecars.proxy.image; found %s", dotted(path))
	}
	source := sourceNamed(d.service.Artifact.Sidecars, path[2])
	if source == nil {
		return expr.Null(), 0, unknown("the service has no sidecar artifact %q", path[2])
	}
	if path[3] == "primaryArtifact" {
		return expr.Bool(false), 4, nil
	}
	return arts.sourceField(source, func() (map[string]any, error) {
		if !lookedUp(source) {
			return nil, nil
		}
		return arts.results(stage, "sidecars", path[2])
	}, path, path[3:])
}

// sourceField resolves a field of an artifact by its source and, where that
// doesn't say, by what was found when it was looked up.
func (arts artifacts) sourceField(
	source *entity.ArtifactSource, lookedUp func() (map[string]any, error), path, rest []string,
) (expr.Value, int, error) {
	used := len(path) - len(rest) + 1
	switch rest[0] {
	case "identifier":
		return arts.scope.deployments().word(source.Identifier, used)
	case "type":
		return arts.scope.deployments().word(source.Type, used)
	case "imagePath", "connectorRef", "region", "registryId", "bucketName":
		return arts.scope.deployments().constant(source.SpecDoc.Get(rest[0]), used)
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
		return arts.scope.deployments().constant(source.SpecDoc.Get(rest[0]), used)
	case "path", "artifactPath", "url", "fileName", "jobName", "bucket", "repository", "package", "packageName", "groupId", "artifactId":
		metadata, _ := found["metadata"].(map[string]any)
		if v, ok := metadata[rest[0]]; ok {
			return expr.FromAny(v), used, nil
		}
		return arts.scope.deployments().constant(source.SpecDoc.Get(rest[0]), used)
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
func (arts artifacts) version(source *entity.ArtifactSource, found map[string]any) (expr.Value, error) {
	if v, ok := found["version"]; ok {
		return expr.FromAny(v), nil
	}
	if source.Source == nil {
		return expr.Null(), noSource(source)
	}
	return field(arts.scope, source.Source.Common().Fixed)
}

// image is the image that was found, else that of the fixed tag. What
// isn't an image has none.
func (arts artifacts) image(source *entity.ArtifactSource, found map[string]any) (expr.Value, error) {
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
func (arts artifacts) metadata(path, rest []string, source *entity.ArtifactSource, found map[string]any) (expr.Value, int, error) {
	used := len(path) - len(rest) + 2
	metadata, _ := found["metadata"].(map[string]any)
	if len(rest) == 1 {
		return expr.FromAny(metadata), used - 1, nil
	}
	if v, ok := metadata[rest[1]]; ok {
		return expr.FromAny(v), used, nil
	}
	if of, ok := source.Source.(artifact.Objects); ok && of.Knows(rest[1]) {
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
		return arts.scope.deployments().constant(source.SpecDoc.Get(rest[1]), used)
	case "artifactPath", "key", "fileName":
		return expr.Null(), used, nil
	}
	return expr.Null(), len(path), nil
}

// object is what is known of a file by its place.
func (arts artifacts) object(source *entity.ArtifactSource, name string) (expr.Value, error) {
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
func (arts artifacts) output(stage *plan.Node, d *deployed, path []string) (expr.Value, int, bool, error) {
	at := slices.Index(path, "output")
	if at < 0 || len(path) < at+4 || path[at+1] != "artifactResults" || path[at+2] != "primary" {
		return expr.Null(), 0, false, nil
	}
	v, used, err := arts.field(stage, d, path, path[at+3:])
	return v, used, true, err
}
