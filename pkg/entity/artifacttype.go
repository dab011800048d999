package entity

import (
	"maps"
	"regexp"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// artifactType says which settings the sources of one type have
// (semantics/entities §2.2). All of them are texts.
type artifactType struct {
	need []string
	may  []string
	// fixed and pattern are the keys of a fixed version and of an expression
	// for the newest that matches; exactly one of them is set.
	fixed, pattern string
	digest         bool
	// words are the values that a setting can have, where not any text.
	words map[string][]string
	// connectorless says that no connector is named.
	connectorless bool
	// more decodes settings that aren't texts.
	more func(*decoder, yamldoc.Value) document.Keys
}

// artifactKinds says what each type that can be resolved has.
func artifactKinds() map[string]artifactType {
	return map[string]artifactType{
		"DockerRegistry": {need: []string{"imagePath"}, fixed: "tag", pattern: "tagRegex", digest: true},
		"Gcr":            {need: []string{"registryHostname", "imagePath"}, fixed: "tag", pattern: "tagRegex", digest: true},
		"GoogleArtifactRegistry": {
			need: []string{"repositoryType", "project", "region", "repositoryName", "package"}, fixed: "version", pattern: "versionRegex", digest: true,
			words: map[string][]string{"repositoryType": {"docker"}},
		},
		"Acr": {need: []string{"subscriptionId", "registry", "repository"}, fixed: "tag", pattern: "tagRegex", digest: true},
		"GithubPackageRegistry": {
			need: []string{"packageType", "packageName"}, may: []string{"org", "user", "groupId", "artifactId", "extension"},
			fixed: "version", pattern: "versionRegex", digest: true,
			words: map[string][]string{"packageType": {"container", "maven", "npm", "nuget", "rubygems"}},
		},
		"Nexus3Registry": {
			need: []string{"repository", "repositoryFormat"}, fixed: "tag", pattern: "tagRegex", digest: true,
			words: map[string][]string{"repositoryFormat": {"docker", "maven", "npm", "nuget", "raw"}}, more: (*decoder).nexusArtifact,
		},
		"ArtifactoryRegistry": {
			need: []string{"repository", "repositoryFormat", "artifactPath"}, may: []string{"repositoryUrl"}, fixed: "tag", pattern: "tagRegex", digest: true,
			words: map[string][]string{"repositoryFormat": {"docker", "generic"}},
		},
		"Jenkins":            {need: []string{"jobName"}, may: []string{"artifactPath"}, fixed: "build"},
		"GoogleCloudStorage": {need: []string{"project", "bucket"}, fixed: "artifactPath"},
		"Ecr": {
			need: []string{"region", "imagePath"}, fixed: "tag", pattern: "tagRegex", digest: true, more: (*decoder).ecrArtifact,
		},
		"AmazonS3": {
			need: []string{"bucketName"}, may: []string{"region"}, fixed: "filePath", pattern: "filePathRegex", more: (*decoder).s3Artifact,
		},
		"CustomArtifact": {fixed: "version", pattern: "versionRegex", connectorless: true, more: (*decoder).customArtifact},
	}
}

func artifactTypes() []string { return slices.Sorted(maps.Keys(artifactKinds())) }

// otherArtifactTypes are those that can't be resolved yet.
func otherArtifactTypes() []string {
	return []string{
		"Nexus2Registry", "AzureArtifacts", "AmazonMachineImage", "Bamboo", "GoogleCloudSource", "GceImage", "Har",
		"SalesforcePackage", "SalesforceOrg", "SalesforceDxProject",
	}
}

// artifactSpec decodes the settings of a source.
func (d *decoder) artifactSpec(v yamldoc.Value, typ string) map[string]yamldoc.Field[string] {
	t, ok := artifactKinds()[typ]
	if !ok {
		return nil // the type is refused already; its keys aren't known here
	}
	if typ == "ArtifactoryRegistry" && document.Peek(v, "repositoryFormat") == "generic" {
		t.need, t.may, t.digest = []string{"repository", "repositoryFormat", "artifactDirectory"}, nil, false
		t.fixed, t.pattern = "artifactPath", "artifactPathFilter"
		t.more = (*decoder).genericArtifact
	}
	out := map[string]yamldoc.Field[string]{}
	put := func(key string, decode func(*yamldoc.Field[string]) func(yamldoc.Value)) func(yamldoc.Value) {
		return func(v yamldoc.Value) {
			var f yamldoc.Field[string]
			decode(&f)(v)
			out[key] = f
		}
	}
	known := document.Keys{"description": func(yamldoc.Value) {}}
	for _, key := range slices.Concat(t.need, t.may) {
		known[key] = put(key, d.Text)
	}
	for key, words := range t.words {
		known[key] = put(key, func(f *yamldoc.Field[string]) func(yamldoc.Value) { return d.Literal(f, words...) })
	}
	if t.digest {
		known["digest"] = put("digest", d.digest)
	}
	if !t.connectorless {
		known["connectorRef"] = put("connectorRef", func(f *yamldoc.Field[string]) func(yamldoc.Value) { return d.Reference(ref.Connector, f) })
	}
	if t.fixed != "" {
		known[t.fixed] = put(t.fixed, d.Text)
	}
	if t.pattern != "" {
		known[t.pattern] = put(t.pattern, d.regex)
	}
	if t.more != nil {
		known = document.Merge(known, t.more(d, v))
	}
	d.Fields(v, known)
	d.Need(v, t.need...)
	if !t.connectorless {
		d.Need(v, "connectorRef")
	}
	d.versionOf(v, t)
	return out
}

// versionOf checks that a source says which version is meant, in one way.
// Harness's editor leaves the other key blank.
func (d *decoder) versionOf(v yamldoc.Value, t artifactType) {
	switch {
	case t.fixed == "" || !v.Is(yamldoc.Mapping):
	case t.pattern == "":
		d.Need(v, t.fixed)
	default:
		if formats := t.words["repositoryFormat"]; formats == nil || slices.Contains(formats, document.Peek(v, "repositoryFormat")) { // which says what the keys are
			d.Takes(v, yamldoc.UseOneOf, t.fixed, t.pattern)
		}
		fixed, pattern := !document.Neutral(v.Node.Get(t.fixed)), !document.Neutral(v.Node.Get(t.pattern))
		if fixed && pattern {
			d.Errorf(v, document.Ambiguous, "found %s and %s; want only one of them", t.fixed, t.pattern)
		}
		if !fixed && !pattern {
			d.Errorf(v, document.MissingKey, "one of the keys %s, %s is missing", t.fixed, t.pattern)
		}
	}
}

// regex binds a regular expression, all of which a version must match.
func (d *decoder) regex(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		if *f = d.String(v); f.Value != "" {
			d.pattern(v, f.Value)
		}
	}
}

var digestForm = regexp.MustCompile(`^(sha256:)?[0-9a-f]{64}$`)

// digest binds an image's digest.
func (d *decoder) digest(f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		if f.Expr == "" && f.Value != "" && !digestForm.MatchString(f.Value) {
			d.Errorf(v, document.WrongValue, "found %q; want a digest such as sha256: and 64 hexadecimal digits", f.Value)
		}
	}
}
