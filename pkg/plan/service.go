package plan

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// TypeService is the type of the step that looks an artifact up. It stands
// before the steps of its stage and isn't among them: its place is that of the
// stage's service, <+pipeline.stages.STAGE.spec.service>.
const TypeService = "Service"

// lookup makes the step that looks the artifact of a stage's service up; nil
// if its document says all that there is to know. Where the service isn't
// chosen yet, the step will see.
func (b *builder) lookup(stage *Node, doc *yamldoc.Node, at place) *Node {
	d := stage.Deployment
	if d == nil || !d.Late && !slices.ContainsFunc(sources(d.Service), LookedUp) {
		return nil
	}
	id := NodeID(string(stage.ID) + ".spec.service")
	b.add(id, doc)
	return &Node{
		ID: id, Kind: KindStep, Identifier: "service", Name: "Service", Type: TypeService, Line: doc.Line,
		Strategies: slices.Clone(at.levels), Selectors: at.selectors, Doc: &yamldoc.Node{Kind: yamldoc.Mapping},
	}
}

// sources are the artifact sources of a service that may be its primary one.
func sources(service *yamldoc.Node) []*yamldoc.Node {
	primary := service.At("serviceDefinition", "spec", "artifacts", "primary")
	if primary.Get("type") != nil {
		return []*yamldoc.Node{primary}
	}
	list := items(primary.Get("sources"))
	want := str(primary, "primaryArtifactRef")
	if want == "" || strings.Contains(want, "<+") {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(n *yamldoc.Node) bool { return str(n, "identifier") != want })
}

// LookedUp says whether a delegate must ask an artifact source which version is
// deployed, or what it is. An image is known by a fixed tag without a digest.
func LookedUp(source *yamldoc.Node) bool {
	spec := source.Get("spec")
	fixed := func(key string) bool {
		v := str(spec, key)
		return v != "" && !strings.Contains(v, "lastPublished") && str(spec, "digest") == ""
	}
	switch str(source, "type") {
	case "DockerRegistry", "Gcr", "Acr":
		return !fixed("tag")
	case "GoogleArtifactRegistry":
		return !fixed("version")
	case "GithubPackageRegistry":
		return !fixed("version") || str(spec, "packageType") != "container"
	case "Ecr": // whose account may be known by its credentials only
		return !fixed("tag") || str(spec, "registryId") == ""
	case "AmazonS3":
		return !fixed("filePath")
	case "Nexus3Registry", "ArtifactoryRegistry":
		return !fixed("tag") || str(spec, "repositoryFormat") != "docker"
	case "CustomArtifact":
		return spec.Get("scripts") != nil
	}
	return true
}
