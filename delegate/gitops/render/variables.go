package render

import (
	"os"
	"strconv"
	"strings"
)

// shortRevision and shorterRevision are how many characters short revisions have.
const shortRevision, shorterRevision = 8, 7

// variable is the value of a variable of a build, as Argo CD names them.
func (j *job) variable(p *part, name string) (string, bool) {
	switch name {
	case "ARGOCD_APP_NAME":
		return j.App, true
	case "ARGOCD_APP_NAMESPACE":
		return j.Namespace, true
	case "ARGOCD_APP_PROJECT_NAME":
		return j.Project, true
	case "ARGOCD_APP_REVISION":
		return p.revision, true
	case "ARGOCD_APP_REVISION_SHORT":
		return p.revision[:min(shorterRevision, len(p.revision))], true
	case "ARGOCD_APP_REVISION_SHORT_8":
		return p.revision[:min(shortRevision, len(p.revision))], true
	case "ARGOCD_APP_SOURCE_PATH":
		return p.Path, true
	case "ARGOCD_APP_SOURCE_REPO_URL":
		return p.RepoURL, true
	case "ARGOCD_APP_SOURCE_TARGET_REVISION":
		return p.TargetRevision, true
	case "KUBE_VERSION":
		return j.KubeVersion, true
	case "KUBE_API_VERSIONS":
		return strings.Join(j.APIVersions, ","), true
	}
	return "", false
}

// substitute puts the variables of a build into a text. What looks like another
// variable stays as it is; two dollar signs are one.
func (j *job) substitute(p *part, text string) string {
	if !strings.Contains(text, "$") {
		return text
	}
	return os.Expand(text, func(name string) string {
		if name == "$" {
			return "$"
		}
		value, ok := j.variable(p, name)
		if !ok {
			return "$" + name
		}
		if strings.Contains(name, "REVISION") { // so that the next one is another render
			j.used[strconv.Itoa(p.index)+" "+name] = value
		}
		return value
	})
}
