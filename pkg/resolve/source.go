package resolve

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// artifact is a source with its expressions resolved and its connector read.
type artifact struct {
	task.Artifact
	selectors []string
	timeout   time.Duration
	connector connector.Connector // of a source that has one
}

// Image is the image of a fixed tag.
func (a artifact) Image() (string, error) {
	if a.Choice.Version == "" {
		return "", fault.New(fault.UnresolvedExpression, "%s has no fixed tag, and its source wasn't asked", a.Name)
	}
	return task.ImageName(a.Registry.Image, a.Choice.Version, a.Choice.Digest), nil
}

// Artifact resolves the artifact of the stage's service, for a delegate that
// looks it up.
func (s *Scope) Artifact() (step.Artifact, error) {
	stage := s.Node.Stage()
	d, err := s.deploys(stage)
	if err != nil {
		return step.Artifact{}, err
	}
	unchecked := d.Unchecked || isTrue(stage.Doc.At("spec", "service", "disableArtifactValidation"))
	var out step.Artifact
	look := func(source *yamldoc.Node) (task.Artifact, error) {
		a, err := s.artifactOf(source)
		a.Choice.Unchecked = unchecked
		out.Selectors, out.Timeout = append(out.Selectors, a.selectors...), max(out.Timeout, a.timeout)
		return a.Artifact, err
	}
	source, err := s.primarySource(d)
	if err != nil {
		return step.Artifact{}, err
	}
	if source != nil && plan.LookedUp(source) { // else another of the sources would have to be asked
		a, err := look(source)
		if err != nil {
			return step.Artifact{}, err
		}
		out.Task = &a
	}
	for _, sidecar := range plan.Sidecars(d.Service) {
		if !plan.LookedUp(sidecar) {
			continue
		}
		a, err := look(sidecar)
		if err != nil {
			return step.Artifact{}, err
		}
		if out.Task == nil {
			out.Task = &task.Artifact{}
		}
		out.Task.Sidecars = append(out.Task.Sidecars, task.SidecarArtifact{ID: text(sidecar.Get("identifier")), Artifact: a})
	}
	return out, nil
}

// ArtifactVersions asks for the newest versions of an artifact source or a
// sidecar of the stage's service, whichever version it would choose itself;
// without a name of the primary artifact's.
func (s *Scope) ArtifactVersions(name string, limit int) (step.Artifact, error) {
	d, err := s.deploys(s.Node.Stage())
	if err != nil {
		return step.Artifact{}, err
	}
	source, err := s.sourceNamed(d, name)
	if err != nil {
		return step.Artifact{}, err
	}
	open := *source
	fixed, pattern := versionKeys(source)
	if spec := source.Get("spec"); spec != nil && pattern != "" {
		every := *spec
		every.Entries = slices.DeleteFunc(slices.Clone(spec.Entries), func(e yamldoc.Entry) bool {
			return e.Key == fixed || e.Key == pattern || e.Key == "digest"
		})
		every.Entries = append(every.Entries, yamldoc.Entry{Key: pattern, Value: &yamldoc.Node{Kind: yamldoc.Scalar, Tag: yamldoc.Str, Value: ".*"}})
		open.Entries = slices.Clone(source.Entries)
		for i, e := range open.Entries {
			if e.Key == "spec" {
				open.Entries[i].Value = &every
			}
		}
	}
	a, err := s.artifactOf(&open)
	if err != nil {
		return step.Artifact{}, err
	}
	a.Choice = task.ArtifactChoice{List: limit}
	return step.Artifact{Task: &a.Artifact, Selectors: a.selectors, Timeout: a.timeout}, nil
}

// sourceNamed finds an artifact source or a sidecar of a service.
func (s *Scope) sourceNamed(d *plan.Deployment, name string) (*yamldoc.Node, error) {
	artifacts := d.Service.At("serviceDefinition", "spec", "artifacts")
	if name == "" {
		source, err := s.primarySource(d)
		if err == nil && source == nil {
			err = fault.New(fault.Invalid, "the service has no artifact")
		}
		return source, err
	}
	if source := named(artifacts.At("primary", "sources"), name); source != nil {
		return source, nil
	}
	if source := identified(artifacts.Get("sidecars"), "sidecar", name); source != nil {
		return source, nil
	}
	return nil, fault.New(fault.Invalid, "the service has no artifact source or sidecar %q", name)
}

// artifactOf resolves a source.
func (s *Scope) artifactOf(source *yamldoc.Node) (artifact, error) {
	a := artifact{Artifact: task.Artifact{Type: text(source.Get("type"))}}
	spec := source.Get("spec")
	err := s.choice(source, &a.Choice)
	if err != nil {
		return a, fault.New(fault.CodeOf(err), "artifact source %s: %w", text(source.Get("identifier")), err)
	}
	if spec.Get("connectorRef") != nil {
		if a.connector, err = s.connectorAt(spec.Get("connectorRef")); err != nil {
			return a, err
		}
		a.selectors = a.connector.Selectors
	}
	switch a.Type {
	case "DockerRegistry":
		err = s.dockerRegistry(spec, &a)
	case "Ecr":
		err = s.ecrRegistry(spec, &a)
	case "Gcr", "GoogleArtifactRegistry":
		err = s.googleRegistry(spec, &a)
	case "Acr":
		err = s.azureRegistry(spec, &a)
	case "GithubPackageRegistry":
		err = s.githubPackage(spec, &a)
	case "Nexus3Registry":
		err = s.nexusComponent(spec, &a)
	case "ArtifactoryRegistry":
		err = s.artifactoryArtifact(spec, &a)
	case "Jenkins":
		err = s.jenkinsBuilds(spec, &a)
	case "GoogleCloudStorage":
		err = s.googleBucket(spec, &a)
	case "CustomArtifact":
		err = s.customArtifact(spec, &a)
	case amazonS3:
		err = s.s3Bucket(spec, &a)
	default:
		err = fault.New(fault.Unsupported, "artifact sources of type %s can't be resolved yet", a.Type)
	}
	return a, err
}

// connectorAt reads the connector that a source names.
func (s *Scope) connectorAt(name *yamldoc.Node) (connector.Connector, error) {
	v, err := s.scalar(name)
	if err != nil {
		return connector.Connector{}, err
	}
	return s.Connector(v.Text())
}

// lastPublished is a version that stands for the newest, perhaps of those that
// match an expression (semantics/pipeline §3.6).
var lastPublished = regexp.MustCompile(`(?s)^\s*<\+\s*lastPublished\.(?:tag|version|build)\s*(?:>\s*|(\.regex\(.*\))\s*>\s*|>\s*(\.regex\(.*\))\s*)$`)

// versionKeys are those by which a source says a fixed version, and an
// expression for the newest that matches.
func versionKeys(source *yamldoc.Node) (fixed, pattern string) {
	switch text(source.Get("type")) {
	case "GoogleArtifactRegistry", "GithubPackageRegistry", "CustomArtifact":
		return "version", "versionRegex"
	case "AmazonS3":
		return "filePath", "filePathRegex"
	case "GoogleCloudStorage":
		return "artifactPath", ""
	case "Jenkins":
		return "build", ""
	case "ArtifactoryRegistry":
		if text(source.At("spec", "repositoryFormat")) == "generic" {
			return "artifactPath", "artifactPathFilter"
		}
	}
	return "tag", "tagRegex"
}

// choice reads which version a source is to give.
func (s *Scope) choice(source *yamldoc.Node, c *task.ArtifactChoice) error {
	fixed, pattern := versionKeys(source)
	set, err := s.settings(source.Get("spec"), pattern, "digest")
	if err != nil {
		return err
	}
	c.Pattern, c.Digest = set[pattern], set["digest"]
	if n := source.At("spec", fixed); c.Pattern == "" && n != nil {
		if m := lastPublished.FindStringSubmatch(n.Value); m != nil {
			c.Pattern = newest(m[1] + m[2])
		} else if set, err = s.settings(source.Get("spec"), fixed); err != nil {
			return err
		}
		c.Version = set[fixed]
	}
	if _, err := regexp.Compile(c.Pattern); err != nil {
		return fault.New(fault.Invalid, "the regular expression %q: %w", c.Pattern, err)
	}
	return nil
}

// newest is the expression that the newest version must match: that in
// .regex(...), or any.
func newest(call string) string {
	if call == "" {
		return ".*"
	}
	re := strings.TrimSuffix(strings.TrimPrefix(call, ".regex("), ")")
	if len(re) > 1 && (re[0] == '"' || re[0] == '\'') && re[len(re)-1] == re[0] {
		re = re[1 : len(re)-1]
	}
	return re
}

// dockerRegistry fills in an image of a Docker registry.
func (s *Scope) dockerRegistry(spec *yamldoc.Node, a *artifact) error {
	registry, err := a.connector.Images()
	if err != nil {
		return err
	}
	path, err := s.scalar(spec.Get("imagePath"))
	if err != nil {
		return err
	}
	a.Registry = &task.ImageRegistry{Server: registry.Server, Repository: path.Text(), Image: connector.RegistryHost(registry.URL) + "/" + path.Text()}
	a.Name = a.Registry.Image
	return nil
}
