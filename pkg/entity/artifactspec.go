package entity

import (
	"regexp"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// nexusArtifact decodes which component of a repository is meant, by the
// repository's format.
func (d *decoder) nexusArtifact(v yamldoc.Value) document.Keys {
	var need, may []string
	switch document.Peek(v, "repositoryFormat") {
	case "docker":
		need, may = []string{"artifactPath"}, []string{"repositoryUrl", "repositoryPort"}
	case "maven":
		need, may = []string{"groupId", "artifactId"}, []string{"classifier", "extension"}
	case "npm", "nuget":
		need = []string{"packageName"}
	case "raw":
		need = []string{"group"}
	}
	d.Need(v, "spec")
	return document.Keys{"spec": func(v yamldoc.Value) {
		known := document.Keys{}
		for _, key := range slices.Concat(need, may) {
			known[key] = func(v yamldoc.Value) { d.String(v) }
		}
		d.Fields(v, known)
		d.Need(v, need...)
		if len(may) > 0 && may[0] == "repositoryUrl" && document.Neutral(v.Node.Get("repositoryUrl")) && document.Neutral(v.Node.Get("repositoryPort")) && v.Is(yamldoc.Mapping) {
			d.Errorf(v, document.MissingKey, "one of the keys repositoryUrl, repositoryPort is missing")
		}
	}}
}

var accountID = regexp.MustCompile(`^\d{12}$`)

// ecrArtifact decodes the account that owns a registry; none: the connector's.
func (d *decoder) ecrArtifact(yamldoc.Value) document.Keys {
	return document.Keys{"registryId": func(v yamldoc.Value) {
		if id := d.String(v).Value; id != "" && !accountID.MatchString(id) {
			d.Errorf(v, document.WrongValue, "found %q; want the twelve digits of an AWS account", id)
		}
	}}
}

// s3Artifact refuses what chooses objects in another way.
func (d *decoder) s3Artifact(yamldoc.Value) document.Keys {
	return document.Keys{"fileFilter": d.Refuse("filtering files (fileFilter) isn't supported")}
}

// genericArtifact refuses what chooses files of a folder in another way.
func (d *decoder) genericArtifact(yamldoc.Value) document.Keys {
	return document.Keys{
		"artifactFilter": d.Refuse("choosing files of several folders (artifactFilter) isn't supported"),
		"repositoryUrl":  document.Nothing, // left over from the format docker
	}
}

var attributeName = regexp.MustCompile(`^[a-zA-Z_][0-9a-zA-Z_]*$`)

// customArtifact decodes the script that tells which versions there are.
func (d *decoder) customArtifact(yamldoc.Value) document.Keys {
	var selectors yamldoc.Field[[]string]
	var timeout yamldoc.Field[time.Duration]
	var inputs []Variable
	return document.Keys{
		"delegateSelectors": d.Words(&selectors),
		"timeout":           d.Time(&timeout),
		"inputs":            d.variables(&inputs),
		"scripts": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{"fetchAllArtifacts": d.fetchArtifacts})
			d.Need(v, "fetchAllArtifacts")
		},
	}
}

func (d *decoder) fetchArtifacts(v yamldoc.Value) {
	var path yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"spec":               d.artifactScript,
		"artifactsArrayPath": d.Text(&path),
		"versionPath":        d.Text(&path),
		"attributes":         d.artifactAttributes,
	})
	d.Need(v, "spec", "artifactsArrayPath", "versionPath")
}

func (d *decoder) artifactScript(v yamldoc.Value) {
	var shell, kind, script yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"shell": d.Literal(&shell, "Bash", "PowerShell"),
		"source": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"type": d.Literal(&kind, filesource.Inline, filesource.Harness),
				"spec": d.scriptIn(v, "script", d.Text(&script), "file", d.File(&script)),
			})
			d.Need(v, "type", "spec")
		},
	})
	d.Need(v, "shell", "source")
}

// artifactAttributes decodes what <+artifact.metadata.NAME> gives: the value
// at a JSON path.
func (d *decoder) artifactAttributes(v yamldoc.Value) {
	names := document.Seen{}
	for item := range d.Items(v) {
		var name, typ, value yamldoc.Field[string]
		d.Fields(item, document.Keys{
			"name":  d.Text(&name),
			"type":  d.Literal(&typ, "String", "Number"),
			"value": d.Text(&value),
		})
		d.Need(item, "name", "value")
		d.Unique(names, item, name.Value)
		if name.Value != "" && !attributeName.MatchString(name.Value) {
			d.Errorf(document.Child(item, "name"), document.BadName, "%q is wrong: it may have letters, digits and _", name.Value)
		}
	}
}
