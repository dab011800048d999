package artifact

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// github is a package of a GitHub host, by its REST API. Images are looked at
// in the host's registry besides.
type github struct {
	spec   lookup.GithubPackages
	name   string
	client *restapi.Client
	images *registry // of a container; else nil
}

func newGithub(p lookup.Artifact, t http.RoundTripper) (*github, error) {
	g := &github{spec: *p.Github, name: p.Name, client: restapi.New(p.Github.Server, t)}
	if p.Registry == nil {
		return g, nil
	}
	var err error
	g.images, err = newRegistry(*p.Registry, t)
	return g, err
}

// path is that of the package; its name's slashes are part of it.
func (g *github) path() string {
	return "/" + g.spec.Owner + "/packages/" + g.spec.Type + "/" + url.PathEscape(g.spec.Package)
}

// githubPage is how many versions GitHub gives at once.
const githubPage = 100

// packageVersion is what GitHub says of a version.
type packageVersion struct {
	Name      string
	CreatedAt time.Time `json:"created_at"`
	HTMLURL   string    `json:"html_url"`
	Metadata  struct {
		Container struct{ Tags []string }
	}
}

func (g *github) versions(ctx context.Context) ([]version, error) {
	var all []version
	err := g.pages(ctx, func(v packageVersion) {
		ids := []string{v.Name}
		if g.images != nil {
			ids = v.Metadata.Container.Tags
		}
		for _, id := range ids {
			all = append(all, version{id: id, created: v.CreatedAt})
		}
	})
	return sorted(all), err
}

// pages calls f for each version, the newest first.
func (g *github) pages(ctx context.Context, f func(packageVersion)) error {
	for page := 1; page <= maxVersions/githubPage; page++ {
		var list []packageVersion
		query := url.Values{"per_page": {strconv.Itoa(githubPage)}, "page": {strconv.Itoa(page)}, "state": {"active"}}
		err := g.client.Get(ctx, g.path()+"/versions", query, &list)
		if notThere(err) {
			return missingArtifact(g.name, err)
		}
		if err != nil {
			return err
		}
		for _, v := range list {
			f(v)
		}
		if len(list) < githubPage {
			return nil
		}
	}
	return nil
}

func (g *github) find(ctx context.Context, id string) (found, error) {
	if g.images != nil {
		return g.images.find(ctx, id)
	}
	var hit *packageVersion
	if err := g.pages(ctx, func(v packageVersion) {
		if v.Name == id && hit == nil {
			hit = &v
		}
	}); err != nil {
		return found{}, err
	}
	if hit == nil {
		return found{}, fault.New(fault.NotFound, "%s has no version %s", g.name, id)
	}
	f := found{Metadata: map[string]string{"version": id, "url": hit.HTMLURL, "package": g.spec.Package}}
	if g.spec.Type == "maven" && g.spec.Artifact != "" {
		return f, g.mavenFile(ctx, id, f.Metadata)
	}
	return f, nil
}

// mavenFile adds where the file of a version is.
func (g *github) mavenFile(ctx context.Context, id string, metadata map[string]string) error {
	var doc struct {
		Repository struct {
			FullName string `json:"full_name"`
		}
	}
	if err := g.client.Get(ctx, g.path(), nil, &doc); err != nil {
		return err
	}
	extension := strings.TrimPrefix(g.spec.Extension, ".")
	if extension == "" {
		extension = "jar"
	}
	metadata["groupId"], metadata["artifactId"], metadata["extension"] = g.spec.Group, g.spec.Artifact, extension
	metadata["fileName"] = g.spec.Artifact + "-" + id + "." + extension
	if doc.Repository.FullName != "" {
		metadata["url"] = strings.Join([]string{
			g.maven(), doc.Repository.FullName, strings.ReplaceAll(g.spec.Group, ".", "/"), g.spec.Artifact, id, metadata["fileName"],
		}, "/")
	}
	return nil
}

// maven is the address of the host's Maven repositories.
func (g *github) maven() string {
	at, err := url.Parse(g.client.URL())
	if err != nil || at.Host == "api.github.com" {
		return "https://maven.pkg.github.com"
	}
	return at.Scheme + "://maven." + at.Host
}
