package resolve

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// primarySource is the service's artifact source: the one that
// primaryArtifactRef names, else the only one, else the legacy form
// (entities spec §2.2). Nil if the service has no artifact.
func (s *Scope) primarySource(d *plan.Deployment) (*yamldoc.Node, error) {
	primary := d.Service.At("serviceDefinition", "spec", "artifacts", "primary")
	if primary.Get("type") != nil {
		return primary, nil
	}
	sources := primary.Get("sources")
	if sources == nil || len(sources.Items) == 0 {
		return nil, nil
	}
	want, err := s.scalar(primary.Get("primaryArtifactRef"))
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

// artifactField resolves artifact.X. Without an artifact everything is null.
func (s *Scope) artifactField(d *plan.Deployment, path, rest []string) (expr.Value, int, error) {
	source, err := s.primarySource(d)
	if err != nil || source == nil || len(rest) == 0 {
		return expr.Null(), len(path), err
	}
	used := len(path) - len(rest) + 1
	spec := source.Get("spec")
	switch rest[0] {
	case "identifier", "type":
		return s.constant(source.Get(rest[0]), used)
	case "primaryArtifact":
		return expr.FromAny(true), used, nil
	case "image":
		image, err := s.image(source)
		return image, used, err
	case "metadata":
		return s.artifactMetadata(path, rest, source)
	case "label", "digest": // what only the registry knows
		return s.constant(spec.Get(rest[0]), used)
	case "tag", "version", "imagePath", "connectorRef", "path", "filePath", "region", "registryId", "bucketName":
		return s.constant(spec.Get(rest[0]), used)
	case "imagePullSecret":
		v, err := s.pullSecret(source, task.PullDockerCfg)
		return v, used, err
	case "dockerConfigJsonSecret":
		v, err := s.pullSecret(source, task.PullDockerConfigJSON)
		return v, used, err
	}
	return expr.Null(), 0, unknown("the artifact has no %q", rest[0])
}

// artifactMetadata resolves artifact.metadata.X. What only the registry knows,
// such as SHA, is null.
func (s *Scope) artifactMetadata(path, rest []string, source *yamldoc.Node) (expr.Value, int, error) {
	used := len(path) - len(rest) + 2
	if len(rest) > 1 {
		switch rest[1] {
		case "image", "url":
			if text(source.Get("type")) == amazonS3 && rest[1] == "url" {
				url, err := s.objectURL(source.Get("spec"))
				return url, used, err
			}
			image, err := s.image(source)
			return image, used, err
		case "tag", "region", "bucketName":
			return s.constant(source.At("spec", rest[1]), used)
		case "artifactPath", "key", "fileName":
			return s.objectName(source, rest[1], used)
		}
	}
	return expr.Null(), len(path), nil
}

// image is the artifact's image (entities spec §2.2); null for one that is none.
func (s *Scope) image(source *yamldoc.Node) (expr.Value, error) {
	if text(source.Get("type")) == amazonS3 {
		return expr.Null(), nil
	}
	spec := source.Get("spec")
	path, err := s.scalar(spec.Get("imagePath"))
	if err != nil {
		return expr.Null(), err
	}
	tag, err := s.scalar(spec.Get("tag"))
	if err != nil {
		return expr.Null(), err
	}
	if spec.Get("tag") == nil || tag.Text() == "" {
		return expr.Null(), fault.New(fault.Unsupported, "an artifact without a fixed tag (tagRegex) can't be resolved yet")
	}
	host, err := s.host(source)
	if err != nil {
		return expr.Null(), err
	}
	image := host + "/" + path.Text() + ":" + tag.Text()
	if digest := spec.Get("digest"); digest != nil && digest.Value != "" {
		v, err := s.scalar(digest)
		return expr.String(image + "@" + v.Text()), err
	}
	return expr.String(image), nil
}

// host is the registry that a source's image is pulled from.
func (s *Scope) host(source *yamldoc.Node) (string, error) {
	switch typ := text(source.Get("type")); typ {
	case "DockerRegistry":
		return s.registry(source.At("spec", "connectorRef"))
	case "Ecr":
		return s.ecrHost(source.Get("spec"))
	default:
		return "", fault.New(fault.Unsupported, "artifact sources of type %s can't be resolved yet", typ)
	}
}

// registry is the host of a Docker registry connector. Docker Hub's is
// index.docker.io whatever form its URL has.
func (s *Scope) registry(connector *yamldoc.Node) (string, error) {
	doc, err := s.connector(connector, s.Execution.Scope)
	if err != nil {
		return "", err
	}
	url := doc.At("spec", "dockerRegistryUrl")
	if url == nil {
		return "", fault.New(fault.Invalid, "connector %q isn't a Docker registry", connector.Value)
	}
	_, host, found := strings.Cut(url.Value, "://")
	if !found {
		host = url.Value
	}
	host, _, _ = strings.Cut(host, "/")
	if strings.HasSuffix(host, "docker.io") || strings.HasSuffix(host, "hub.docker.com") {
		return "index.docker.io", nil
	}
	return host, nil
}
