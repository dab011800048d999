package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ArtifactTrigger says which new versions of an artifact start the pipeline
// (semantics/pipeline §11.4). All of its conditions must hold.
type ArtifactTrigger struct {
	Type       yamldoc.Field[string] // Ecr or AmazonS3
	Connector  yamldoc.Field[string]
	Region     yamldoc.Field[string]
	RegistryID yamldoc.Field[string] // Ecr: the account that owns the registry
	ImagePath  yamldoc.Field[string] // Ecr
	Bucket     yamldoc.Field[string] // AmazonS3
	FilePath   yamldoc.Field[string] // AmazonS3: a pattern of the whole key
	Versions   []Condition           // eventConditions
	Metadata   []Condition           // metaDataConditions
	JEXL       yamldoc.Field[string]
}

// Build is the key of a Condition that means an artifact's version.
const Build = "build"

// The types of artifact that AWS tells of.
const (
	ECR      = "Ecr"
	AmazonS3 = "AmazonS3"
)

// ArtifactSourceName is the TriggerSource of an image's repository, or of a
// bucket. So a push finds its triggers without looking at others.
func ArtifactSourceName(typ, name string) string { return typ + " " + name }

// thisVersion is what stands where a service has its tag.
const thisVersion = "<+trigger.artifact.build>"

func otherArtifactTriggers() []string {
	return []string{
		"Gcr", "DockerRegistry", "Nexus3Registry", "Nexus2Registry", "ArtifactoryRegistry", "Acr", "Jenkins", "CustomArtifact",
		"GoogleArtifactRegistry", "GithubPackageRegistry", "AzureArtifacts", "AmazonMachineImage", "GoogleCloudStorage", "GceImage", "Bamboo",
	}
}

func (d triggers) artifactTrigger(v yamldoc.Value, a *ArtifactTrigger) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&a.Type, "nothing asks registries for new versions (docs/triggers.md): the artifact trigger type",
			[]string{ECR, AmazonS3}, otherArtifactTriggers()...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case ECR:
				d.ecrTrigger(v, a)
			case AmazonS3:
				d.s3Trigger(v, a)
			}
		},
		"stageIdentifier": d.unneeded,
		"artifactRef":     d.unneeded,
	})
	d.Need(v, "type", "spec")
}

// unneeded warns of a key of older triggers, which say there what inputYaml
// says now.
func (d triggers) unneeded(v yamldoc.Value) {
	if !document.Neutral(v.Node) {
		d.Warnf(v, document.UnsupportedAtRun, "%s changes nothing: what the pipeline gets is what inputYaml says", v.Key)
	}
}

func (d triggers) ecrTrigger(v yamldoc.Value, a *ArtifactTrigger) {
	d.Fields(v, document.Merge(d.artifactConditions(a), document.Keys{
		"connectorRef": d.chosen(ref.Connector, &a.Connector),
		"region":       d.settled(&a.Region),
		"registryId": func(v yamldoc.Value) {
			d.settled(&a.RegistryID)(v)
			if id := a.RegistryID.Value; id != "" && !artifact.IsAccount(id) {
				d.Errorf(v, document.WrongValue, "found %q; want the twelve digits of an AWS account", id)
			}
		},
		"imagePath": d.settled(&a.ImagePath),
		"tag":       d.thisVersion,
		"digest":    d.Refuse("a digest of an artifact trigger isn't supported"),
	}))
	d.Need(v, "connectorRef", "region", "imagePath")
	if a.ImagePath.Value != "" {
		d.listens(v, ArtifactSourceName(ECR, a.ImagePath.Value))
	}
}

func (d triggers) s3Trigger(v yamldoc.Value, a *ArtifactTrigger) {
	d.Fields(v, document.Merge(d.artifactConditions(a), document.Keys{
		"connectorRef": d.chosen(ref.Connector, &a.Connector),
		"region":       d.settled(&a.Region),
		"bucketName":   d.settled(&a.Bucket),
		"filePath":     d.thisVersion,
		"filePathRegex": func(v yamldoc.Value) {
			d.settled(&a.FilePath)(v)
			d.pattern(v, a.FilePath.Value)
		},
		"fileFilter": d.Refuse("filtering files (fileFilter) isn't supported"),
	}))
	d.Need(v, "connectorRef", "bucketName")
	if a.Bucket.Value != "" {
		d.listens(v, ArtifactSourceName(AmazonS3, a.Bucket.Value))
	}
}

// settled binds a text that is known when the trigger is saved: what happens
// is compared with it before there is a pipeline.
func (d triggers) settled(f *yamldoc.Field[string]) document.Rule {
	return d.PlainText(f, "a fixed value")
}

// thisVersion checks the place of the version, which is the event's.
func (d triggers) thisVersion(v yamldoc.Value) {
	if f := d.String(v); !document.Neutral(v.Node) && strings.ReplaceAll(f.Expr, " ", "") != thisVersion && !strings.HasPrefix(f.Expr, "<+input>") {
		d.Errorf(v, document.WrongValue, "found %q; want %s: eventConditions choose versions", v.Node.Value, thisVersion)
	}
}

func (d triggers) artifactConditions(a *ArtifactTrigger) document.Keys {
	return document.Keys{
		"eventConditions": func(v yamldoc.Value) {
			a.Versions = d.conditionList(v, func(v yamldoc.Value, key string) {
				if key != "" && key != Build && !strings.Contains(key, "<+") {
					d.Errorf(v, document.WrongValue, "found the key %q; want %s%s", key, Build, d.Hint(key, []string{Build}))
				}
			})
		},
		"metaDataConditions": func(v yamldoc.Value) {
			a.Metadata = d.conditionList(v, func(v yamldoc.Value, key string) {
				if key != "" && !strings.Contains(key, "<+") {
					d.Errorf(v, document.WrongValue, "found the key %q; want an expression such as <+trigger.artifact.metadata.digest>", key)
				}
			})
		},
		"jexlCondition": d.Condition(&a.JEXL),
	}
}
