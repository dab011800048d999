package entity

import (
	"regexp"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// nexusArtifact decodes which component of a repository is meant, by the
// repository's format.
func (d *decoder) nexusArtifact(v yamldoc.Value) keys {
	var need, may []string
	switch peek(v, "repositoryFormat") {
	case "docker":
		need, may = []string{"artifactPath"}, []string{"repositoryUrl", "repositoryPort"}
	case "maven":
		need, may = []string{"groupId", "artifactId"}, []string{"classifier", "extension"}
	case "npm", "nuget":
		need = []string{"packageName"}
	case "raw":
		need = []string{"group"}
	}
	d.need(v, "spec")
	return keys{"spec": func(v yamldoc.Value) {
		known := keys{}
		for _, key := range slices.Concat(need, may) {
			known[key] = func(v yamldoc.Value) { d.String(v) }
		}
		d.fields(v, known)
		d.need(v, need...)
		if len(may) > 0 && may[0] == "repositoryUrl" && neutral(v.Node.Get("repositoryUrl")) && neutral(v.Node.Get("repositoryPort")) && v.Is(yamldoc.Mapping) {
			d.Errorf(v, missingKey, "one of the keys repositoryUrl, repositoryPort is missing")
		}
	}}
}

var accountID = regexp.MustCompile(`^\d{12}$`)

// ecrArtifact decodes the account that owns a registry; none: the connector's.
func (d *decoder) ecrArtifact(yamldoc.Value) keys {
	return keys{"registryId": func(v yamldoc.Value) {
		if id := d.String(v).Value; id != "" && !accountID.MatchString(id) {
			d.Errorf(v, wrongValue, "found %q; want the twelve digits of an AWS account", id)
		}
	}}
}

// s3Artifact refuses what chooses objects in another way.
func (d *decoder) s3Artifact(yamldoc.Value) keys {
	return keys{"fileFilter": d.refuse("filtering files (fileFilter) isn't supported")}
}

// genericArtifact refuses what chooses files of a folder in another way.
func (d *decoder) genericArtifact(yamldoc.Value) keys {
	return keys{
		"artifactFilter": d.refuse("choosing files of several folders (artifactFilter) isn't supported"),
		"repositoryUrl":  func(yamldoc.Value) {}, // left over from the format docker
	}
}

var attributeName = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_]*$`)

// customArtifact decodes the script that tells which versions there are.
func (d *decoder) customArtifact(yamldoc.Value) keys {
	var selectors yamldoc.Field[[]string]
	var timeout yamldoc.Field[time.Duration]
	var inputs []Variable
	return keys{
		"delegateSelectors": d.words(&selectors),
		"timeout":           d.duration(&timeout),
		"inputs":            d.variables(&inputs),
		"scripts": func(v yamldoc.Value) {
			d.fields(v, keys{"fetchAllArtifacts": d.fetchArtifacts})
			d.need(v, "fetchAllArtifacts")
		},
	}
}

func (d *decoder) fetchArtifacts(v yamldoc.Value) {
	var path yamldoc.Field[string]
	d.fields(v, keys{
		"spec":               d.artifactScript,
		"artifactsArrayPath": d.text(&path),
		"versionPath":        d.text(&path),
		"attributes":         d.artifactAttributes,
	})
	d.need(v, "spec", "artifactsArrayPath", "versionPath")
}

func (d *decoder) artifactScript(v yamldoc.Value) {
	var shell, kind, script yamldoc.Field[string]
	d.fields(v, keys{
		"shell": d.literal(&shell, "Bash", "PowerShell"),
		"source": func(v yamldoc.Value) {
			d.fields(v, keys{
				"type": d.literal(&kind, storeInline, storeHarness),
				"spec": d.scriptIn(v, "script", d.text(&script), "file", d.file(&script)),
			})
			d.need(v, "type", "spec")
		},
	})
	d.need(v, "shell", "source")
}

// artifactAttributes decodes what <+artifact.metadata.NAME> gives: the value
// at a JSON path.
func (d *decoder) artifactAttributes(v yamldoc.Value) {
	names := seen{}
	for item := range d.list(v) {
		var name, typ, value yamldoc.Field[string]
		d.fields(item, keys{
			"name":  d.text(&name),
			"type":  d.literal(&typ, "String", "Number"),
			"value": d.text(&value),
		})
		d.need(item, "name", "value")
		d.unique(names, item, name.Value)
		if name.Value != "" && !attributeName.MatchString(name.Value) {
			d.Errorf(child(item, "name"), badName, "%q is wrong: it may have letters, digits and _", name.Value)
		}
	}
}
