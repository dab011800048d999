package entity

import (
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/artifact"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ArtifactTrigger says which new versions of an artifact start the pipeline
// (semantics/pipeline §11.4). All of its conditions must hold.
type ArtifactTrigger struct {
	Type       yamldoc.Field[string] // Ecr, AmazonS3 or AmazonMachineImage
	Connector  yamldoc.Field[string]
	Region     yamldoc.Field[string]
	RegistryID yamldoc.Field[string] // Ecr: the account that owns the registry
	ImagePath  yamldoc.Field[string] // Ecr
	Bucket     yamldoc.Field[string] // AmazonS3
	FilePath   yamldoc.Field[string] // AmazonS3: a pattern of the whole key
	Name       yamldoc.Field[string] // AmazonMachineImage: a pattern of the whole name
	Tags       []artifact.NamedValue // AmazonMachineImage
	Filters    []artifact.NamedValue // AmazonMachineImage
	// Every is how often a delegate asks for new versions; 0: it doesn't.
	Every    time.Duration
	Versions []Condition // eventConditions
	Metadata []Condition // metaDataConditions
	JEXL     yamldoc.Field[string]
}

// Watched says whether a delegate has something to ask for: new versions, or
// what the events of machine images leave out.
func (a *ArtifactTrigger) Watched() bool { return a.Every > 0 || a.Type.Value == machineImage }

// Build is the key of a Condition that means an artifact's version.
const Build = "build"

// The types of artifact that AWS tells of.
const (
	ecrImage     = "Ecr"
	s3Object     = "AmazonS3"
	machineImage = "AmazonMachineImage"
)

// WatchedSource is the TriggerSource of those for which delegates ask.
const WatchedSource = "Watched"

// The bounds of a pollInterval.
const (
	pollLeast = 2 * time.Minute
	pollMost  = 24 * time.Hour
)

// ArtifactSourceName is the TriggerSource of an image's repository, of a bucket,
// or of a region's machine images. So a push finds its triggers without looking at others.
func ArtifactSourceName(typ, name string) string { return typ + " " + name }

// thisVersion is what stands where a service has its tag.
const thisVersion = "<+trigger.artifact.build>"

func otherArtifactTriggers() []string {
	return []string{
		"Gcr", "DockerRegistry", "Nexus3Registry", "Nexus2Registry", "ArtifactoryRegistry", "Acr", "Jenkins", "CustomArtifact",
		"GoogleArtifactRegistry", "GithubPackageRegistry", "AzureArtifacts", "GoogleCloudStorage", "GceImage", "Bamboo",
	}
}

func (d triggers) artifactTrigger(v yamldoc.Value, a *ArtifactTrigger) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&a.Type, "nothing asks registries for new versions (docs/triggers.md): the artifact trigger type",
			[]string{ecrImage, s3Object, machineImage}, otherArtifactTriggers()...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case ecrImage:
				d.ecrTrigger(v, a)
			case s3Object:
				d.s3Trigger(v, a)
			case machineImage:
				d.amiTrigger(v, a)
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
		d.listens(v, ArtifactSourceName(ecrImage, a.ImagePath.Value))
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
		d.listens(v, ArtifactSourceName(s3Object, a.Bucket.Value))
	}
}

func (d triggers) amiTrigger(v yamldoc.Value, a *ArtifactTrigger) {
	d.Fields(v, document.Merge(d.artifactConditions(a), document.Keys{
		"connectorRef": d.chosen(ref.Connector, &a.Connector),
		"region":       d.settled(&a.Region),
		"tags":         func(v yamldoc.Value) { a.Tags = artifact.NamedValues(d.Decoder, v, artifact.ImageTag, d.settled) },
		"filters":      func(v yamldoc.Value) { a.Filters = artifact.NamedValues(d.Decoder, v, artifact.ImageFilter, d.settled) },
		"version":      d.thisVersion,
		"versionRegex": func(v yamldoc.Value) {
			d.settled(&a.Name)(v)
			d.pattern(v, a.Name.Value)
		},
	}))
	d.Need(v, "connectorRef", "region")
	if a.Region.Value != "" {
		d.listens(v, ArtifactSourceName(machineImage, a.Region.Value))
	}
}

// every reads how often a delegate asks for new versions; nothing and 0 mean
// that only events tell of them.
func (d triggers) every(v yamldoc.Value, a *ArtifactTrigger) {
	f := d.String(v)
	d.Plain(v, f.Expr, "a fixed time such as 5m")
	if strings.Trim(f.Value, "0") == "" {
		return
	}
	took, err := yamldoc.ParseDuration(f.Value)
	switch {
	case err != nil:
		d.Errorf(v, document.WrongValue, "%s", err)
	case took < pollLeast || took > pollMost:
		d.Errorf(v, document.WrongValue, "found %s; want from 2m to 24h, or 0 to wait for AWS to tell", f.Value)
	default:
		a.Every = took
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
