package resolve

import (
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// settings resolves some settings of a source to texts.
func (s *Scope) settings(spec *yamldoc.Node, keys ...string) (map[string]string, error) {
	out := map[string]string{}
	for _, key := range keys {
		n := spec.Get(key)
		if key == "" || n == nil || n.Value == "" {
			continue
		}
		v, err := s.scalar(n)
		if err != nil {
			return nil, err
		}
		out[key] = v.Text()
	}
	return out, nil
}

// image fills in an image by the host of its registry and its path there.
func (a *artifact) image(host, path string) {
	a.Registry = &task.ImageRegistry{
		Server: task.Server{URL: "https://" + host, Auth: task.AuthNone}, Repository: path, Image: host + "/" + path,
	}
	a.Name = a.Registry.Image
}

// googleRegistry fills in an image of Container Registry or Artifact Registry.
func (s *Scope) googleRegistry(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "registryHostname", "imagePath", "project", "region", "repositoryName", "package")
	if err != nil {
		return err
	}
	host, path := set["registryHostname"], set["imagePath"]
	if a.Type == "GoogleArtifactRegistry" {
		host, path = set["region"]+"-docker.pkg.dev", set["project"]+"/"+set["repositoryName"]+"/"+set["package"]
	}
	a.image(host, path)
	a.Registry.Google, err = a.connector.Google()
	return err
}

// azureRegistry fills in an image of Azure's container registry. A registry's
// name is one of all in its cloud, so its subscription isn't looked for.
func (s *Scope) azureRegistry(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "registry", "repository")
	if err != nil {
		return err
	}
	access, err := a.connector.Azure()
	if err != nil {
		return err
	}
	host := strings.ToLower(set["registry"])
	switch {
	case strings.Contains(host, "."): // the login server
	case access.Government:
		host += ".azurecr.us"
	default:
		host += ".azurecr.io"
	}
	a.image(host, set["repository"])
	a.Registry.Azure = access
	return nil
}

// githubPackage fills in a package of a GitHub host.
func (s *Scope) githubPackage(spec *yamldoc.Node, a *artifact) error {
	login, err := a.connector.Packages()
	if err != nil {
		return err
	}
	set, err := s.settings(spec, "packageType", "packageName", "org", "user", "groupId", "artifactId", "extension")
	if err != nil {
		return err
	}
	at, err := url.Parse(login.URL)
	if err != nil || at.Host == "" {
		return fault.New(fault.Invalid, "connector %s has the URL %q; want one that starts with https://", a.connector.ID, login.URL)
	}
	g := &task.GithubPackages{
		Server: task.Server{URL: "https://api.github.com", Auth: task.AuthBearer, Token: login.Password},
		Type:   set["packageType"], Package: set["packageName"], Group: set["groupId"], Artifact: set["artifactId"], Extension: set["extension"],
	}
	host := "ghcr.io"
	if at.Host != "github.com" {
		g.Server.URL, host = at.Scheme+"://"+at.Host+"/api/v3", "containers."+at.Host
	}
	if login.Token != "" {
		g.Server.Token = login.Token
	}
	if g.Server.Token == "" {
		g.Server.Auth = task.AuthNone
	}
	owner := set["org"]
	switch {
	case owner != "":
		g.Owner = "orgs/" + owner
	case set["user"] != "":
		owner = set["user"]
		g.Owner = "users/" + owner
	default:
		g.Owner, owner = "user", login.Username
	}
	a.Github, a.Name = g, g.Type+" package "+owner+"/"+g.Package
	if g.Type == "container" {
		a.image(host, strings.ToLower(owner)+"/"+g.Package)
		g.Image = a.Registry.Image
		a.Registry.Server.Auth, a.Registry.Server.Username, a.Registry.Server.Password = task.AuthBasic, login.Username, login.Password
		if login.Password == "" {
			a.Registry.Server.Auth = task.AuthNone
		}
	}
	return nil
}
