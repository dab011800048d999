// Package lookup says which version of an artifact a delegate looks up, where, and
// what it finds. How each kind of source is asked is for delegate/artifact; what
// a service's YAML says of its artifacts, for pkg/artifact.
package lookup

import (
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Artifact asks for one version of an artifact, or for the newest ones
// (semantics/entities §2.2). The field that is set says which kind of source
// it is.
type Artifact struct {
	Type     string          `json:"type"` // of the source, as in YAML, e.g. DockerRegistry
	Name     string          `json:"name"` // of the artifact, for people
	Choice   Choice          `json:"choice"`
	Registry *Registry       `json:"registry,omitempty"`
	Github   *GithubPackages `json:"github,omitempty"`
	// ECR, S3 and AMI are Amazon's; ECR wins over Registry, which has its image's name.
	ECR         *ECRImages         `json:"ecr,omitempty"`
	S3          *task.S3Objects    `json:"s3,omitempty"`
	AMI         *MachineImages     `json:"ami,omitempty"`
	Nexus       *Nexus             `json:"nexus,omitempty"`
	Artifactory *Artifactory       `json:"artifactory,omitempty"`
	Jenkins     *JenkinsBuilds     `json:"jenkins,omitempty"`
	Bucket      *task.GoogleBucket `json:"bucket,omitempty"`
	Custom      *Custom            `json:"custom,omitempty"`
	// Sidecars are looked up, too; without a Type they alone are.
	Sidecars []Sidecar `json:"sidecars,omitempty"`
}

// IsFile says whether the artifact is a file of Artifactory or Nexus, which a
// delegate downloads.
func (a Artifact) IsFile() bool {
	return a.Artifactory != nil && a.Artifactory.Image == "" || a.Nexus != nil && (a.Nexus.Format == "maven" || a.Nexus.Format == "raw")
}

// Sidecar is an artifact beside the primary one.
type Sidecar struct {
	ID       string   `json:"id"`
	Artifact Artifact `json:"artifact"`
}

// Choice says which version is wanted: Version, or the newest one all
// of which matches Pattern.
type Choice struct {
	Version string `json:"version,omitempty"`
	Pattern string `json:"pattern,omitempty"` // RE2
	// Digest is what the chosen image must have, with or without "sha256:".
	Digest string `json:"digest,omitempty"`
	// Unchecked takes a fixed version without looking whether it is there.
	Unchecked bool `json:"unchecked,omitempty"`
	// List gives that many of the newest versions instead of one.
	List int `json:"list,omitempty"`
}

// Registry is a repository of container images.
type Registry struct {
	Server task.Server `json:"server"` // whose credentials are Basic or none
	// Repository is the image's path on the server, e.g. "library/nginx".
	Repository string `json:"repository"`
	// Image is the image's name without a tag, as clusters pull it.
	Image string `json:"image"`
	// Google or Azure asks its cloud for the credentials instead.
	Google *task.Google `json:"google,omitempty"`
	Azure  *task.Azure  `json:"azure,omitempty"`
}

// GithubPackages is a package of a GitHub host. Its server is that of the API.
type GithubPackages struct {
	Server task.Server `json:"server"`
	// Owner is "orgs/NAME", "users/NAME", or "user" for the connector's own.
	Owner   string `json:"owner"`
	Type    string `json:"type"` // container, maven, npm, nuget or rubygems
	Package string `json:"package"`
	Image   string `json:"image,omitempty"` // of a container, without a tag
	// Maven: of the file that is meant.
	Group     string `json:"group,omitempty"`
	Artifact  string `json:"artifact,omitempty"`
	Extension string `json:"extension,omitempty"`
}

// Nexus is a component of a repository of Nexus 3.
type Nexus struct {
	Server     task.Server `json:"server"`
	Repository string      `json:"repository"`
	Format     string      `json:"format"` // docker, maven, npm, nuget or raw
	// Package is the name of the image or of the package; Maven has Group and
	// Artifact instead, raw the Group alone.
	Package    string `json:"package,omitempty"`
	Group      string `json:"group,omitempty"`
	Artifact   string `json:"artifact,omitempty"`
	Classifier string `json:"classifier,omitempty"`
	Extension  string `json:"extension,omitempty"`
	Image      string `json:"image,omitempty"` // of docker, without a tag
}

// Artifactory is an image, or the files of a folder, in a repository.
type Artifactory struct {
	Server     task.Server `json:"server"`
	Repository string      `json:"repository"`
	Path       string      `json:"path"`            // of the image or the folder
	Image      string      `json:"image,omitempty"` // without a tag; empty: files
}

// JenkinsBuilds are the builds of a job that succeeded.
type JenkinsBuilds struct {
	Server task.Server `json:"server"`
	Job    string      `json:"job"`            // with its folders
	Path   string      `json:"path,omitempty"` // of a file that the build has kept
}

// Custom is a script that writes which versions there are, as JSON.
type Custom struct {
	Script task.Shell `json:"script"`
	// Array and Version are JSON paths: of the list, and of the version in each
	// of its elements.
	Array      string            `json:"array"`
	Version    string            `json:"version"`
	Attributes map[string]string `json:"attributes,omitempty"` // name -> JSON path in an element
}

// Results is what a task with an Artifact puts out: one version of it.
// Pull secrets are among the task's secret outputs.
type Results struct {
	Version  string            `json:"version,omitempty"`
	Image    string            `json:"image,omitempty"`
	Digest   string            `json:"digest,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	Label    map[string]string `json:"label,omitempty"`
	// Versions are the newest ones, where a list was asked for.
	Versions []ArtifactVersion `json:"versions,omitempty"`
}

// ArtifactVersion is one of several versions.
type ArtifactVersion struct {
	Version string    `json:"version"`
	Created time.Time `json:"created,omitzero"` // where the registry tells
}

// ImageName is the name by which clusters pull an image. The digest is
// empty, or has the form sha256:... or that without "sha256:".
func ImageName(image, tag, digest string) string {
	name := image + ":" + tag
	if digest == "" {
		return name
	}
	return name + "@" + CanonicalDigest(digest)
}

// CanonicalDigest is a digest with the name of its algorithm.
func CanonicalDigest(digest string) string {
	if strings.Contains(digest, ":") {
		return digest
	}
	return "sha256:" + digest
}

// ECRImages is a repository of images in ECR.
type ECRImages struct {
	AWS        task.AWS `json:"aws"`
	Account    string   `json:"account,omitempty"` // that owns the registry; empty: that of the credentials
	Repository string   `json:"repository"`
}

// MachineImages are the available machine images (AMIs) of an account in a
// region, as far as all filters fit; they are versions by their names.
type MachineImages struct {
	AWS task.AWS `json:"aws"`
	// Filters are EC2's by their names, e.g. architecture, or tag:team; in values *
	// and ? stand for any characters.
	Filters map[string]string `json:"filters,omitempty"`
}
