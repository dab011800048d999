package artifact

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// File reads the file that an artifact of Artifactory or Nexus is: fault.TooLarge if
// it has more than so many bytes. The requests are sent over t; nil is a transport
// with net/http's defaults.
func File(ctx context.Context, a lookup.Artifact, t http.RoundTripper, most int64) ([]byte, error) {
	var server task.Server
	at := url.URL{}
	switch {
	case !a.IsFile():
		return nil, fault.New(fault.Invalid, "an artifact of the type %s is no file", a.Type).Causing(fault.ConfigurationFailure)
	case a.Artifactory != nil:
		server, at.Path = a.Artifactory.Server, path.Join("/", a.Artifactory.Repository, a.Artifactory.Path, a.Choice.Version)
	default:
		server = a.Nexus.Server
		n := &nexus{spec: *a.Nexus, name: a.Name, client: restapi.New(server, t)}
		name, err := n.file(ctx, a.Choice.Version)
		if err != nil {
			return nil, err
		}
		at.Path = path.Join("/repository", a.Nexus.Repository, name) // below the connector's address, to which its login belongs
	}
	answer, err := restapi.New(server, t).Do(ctx, restapi.Request{Method: http.MethodGet, Path: at.EscapedPath(), Most: most})
	return answer.Body, err
}

// packed are the endings of the files that are meant where a source names none.
func packed() []string { return []string{".zip", ".jar"} }

// file is the path of the file of a version in its repository. A component of Maven
// has several, such as descriptions and checksums.
func (n *nexus) file(ctx context.Context, id string) (string, error) {
	endings := packed()
	if n.spec.Extension != "" {
		endings = []string{"." + strings.TrimPrefix(n.spec.Extension, ".")}
	}
	meant := func(name string) bool {
		return n.spec.Format == "raw" || slices.ContainsFunc(endings, func(ending string) bool { return strings.HasSuffix(name, ending) })
	}
	name, hit := "", false
	err := n.search(ctx, id, func(c component) bool {
		if n.id(c) != id {
			return false
		}
		hit = true
		for _, a := range c.Assets {
			if meant(a.Path) && n.classified(a.Path, id) {
				name = a.Path
				return true
			}
		}
		return false
	})
	switch {
	case err != nil:
		return "", err
	case !hit:
		return "", fault.New(fault.NotFound, "%s has no version %s", n.name, id)
	case name == "":
		return "", fault.New(fault.NotFound, "version %s of %s has no file that ends in %s", id, n.name, strings.Join(endings, " or ")).Causing(fault.ConfigurationFailure)
	}
	return name, nil
}

// classified says whether a file of a component of Maven is of the classifier that
// the source names, or of none, as ARTIFACT-VERSION[-CLASSIFIER].EXTENSION says.
func (n *nexus) classified(name, id string) bool {
	if n.spec.Format != "maven" {
		return true
	}
	want := n.spec.Artifact + "-" + id
	if n.spec.Classifier != "" {
		want += "-" + n.spec.Classifier
	}
	rest, ok := strings.CutPrefix(path.Base(name), want)
	return ok && strings.HasPrefix(rest, ".")
}
