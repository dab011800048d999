package entity

import (
	"regexp"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ECRArtifact is the spec of an Ecr source: an image in Amazon's registry.
type ECRArtifact struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	RegistryID   yamldoc.Field[string] // the account that owns the registry; none: the connector's
	ImagePath    yamldoc.Field[string]
	Tag          yamldoc.Field[string]
	TagRegex     yamldoc.Field[string] // the newest tag all of which matches
	Digest       yamldoc.Field[string]
}

// S3Artifact is the spec of an AmazonS3 source: one object of a bucket.
type S3Artifact struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Bucket       yamldoc.Field[string]
	FilePath     yamldoc.Field[string]
	FileRegex    yamldoc.Field[string] // the newest key all of which matches
}

var accountID = regexp.MustCompile(`^\d{12}$`)

func (d *decoder) ecrArtifact(v yamldoc.Value, a *ECRArtifact) {
	d.fields(v, keys{
		"connectorRef": d.reference(ref.Connector, &a.ConnectorRef),
		"region":       d.text(&a.Region),
		"registryId": func(v yamldoc.Value) {
			if a.RegistryID = d.String(v); a.RegistryID.Value != "" && !accountID.MatchString(a.RegistryID.Value) {
				d.Errorf(v, wrongValue, "found %q; want the twelve digits of an AWS account", a.RegistryID.Value)
			}
		},
		"imagePath":   d.text(&a.ImagePath),
		"tag":         d.text(&a.Tag),
		"tagRegex":    d.regex(&a.TagRegex),
		"digest":      d.digest(&a.Digest),
		"description": func(yamldoc.Value) {},
	})
	d.need(v, "connectorRef", "region", "imagePath")
	d.versionOf(v, artifactType{fixed: "tag", pattern: "tagRegex"})
}

func (d *decoder) s3Artifact(v yamldoc.Value, a *S3Artifact) {
	d.fields(v, keys{
		"connectorRef":  d.reference(ref.Connector, &a.ConnectorRef),
		"region":        d.text(&a.Region),
		"bucketName":    d.text(&a.Bucket),
		"filePath":      d.text(&a.FilePath),
		"filePathRegex": d.regex(&a.FileRegex),
		"fileFilter":    d.refuse("filtering files (fileFilter) isn't supported"),
		"description":   func(yamldoc.Value) {},
	})
	d.need(v, "connectorRef", "bucketName")
	d.versionOf(v, artifactType{fixed: "filePath", pattern: "filePathRegex"})
}
