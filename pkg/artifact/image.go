package artifact

import (
	"net/url"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Image is the image of a fixed tag; empty for what isn't an image.
func (a Asked) Image() (string, error) {
	switch {
	case a.Registry == nil && a.ECR != nil:
		return "", fault.New(fault.UnresolvedExpression, "which account has the image isn't known: the artifact source has no registryId, and wasn't asked")
	case a.Registry == nil:
		return "", nil
	case a.Choice.Version == "":
		return "", fault.New(fault.Invalid, "the artifact has no image: %w", fault.New(fault.UnresolvedExpression, "%s has no fixed tag, and its source wasn't asked", a.Name))
	}
	return lookup.ImageName(a.Registry.Image, a.Choice.Version, a.Choice.Digest), nil
}

// image fills in an image by the host of its registry and its path there.
func (a *Asked) image(host, path string) {
	a.Registry = &lookup.Registry{
		Server: task.Server{URL: "https://" + host, Auth: task.AuthNone}, Repository: path, Image: host + "/" + path,
	}
	a.Name = a.Registry.Image
}

// hosted fills in an image that a repository manager serves under a host of
// its own, with the repository manager's credentials.
func (a *Asked) hosted(address, repository string, server task.Server) {
	_, host, found := strings.Cut(address, "://")
	if !found {
		host = address
	}
	host = strings.Trim(host, "/")
	a.image(host, repository)
	base, below, _ := strings.Cut(host, "/")
	login := server
	login.URL = "https://" + base
	if strings.HasPrefix(address, "http://") {
		login.URL = "http://" + base
	}
	a.Registry.Server, a.Registry.Repository = login, path.Join(below, repository)
}

// pull fills in what the image's own registry is logged in to with.
func (a Asked) pull(p *task.PullSecret) {
	if a.Registry == nil {
		return
	}
	server := a.Registry.Server
	p.Username, p.Password, p.Google, p.Azure = server.Username, server.Password, a.Registry.Google, a.Registry.Azure
	if p.Password != "" || p.Google != nil || p.Azure != nil {
		p.Registry = server.URL
	}
}

// web is where the pages of a connector's system are.
func web(c connector.Connector, address string) (*url.URL, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return nil, fault.New(fault.Invalid, "connector %s has the URL %q; want one that starts with https://", c.ID, address)
	}
	return at, nil
}

// Docker is an image in a Docker registry.
type Docker struct {
	Base
	Path yamldoc.Field[string]
}

// dockerHub is how clients know Docker Hub, whatever its connector's URL is.
const dockerHub = "https://index.docker.io/v1/"

func decodeDocker(d *Decoder, v yamldoc.Value) Source {
	s := &Docker{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	s.decode(d, v, form{need: []string{"imagePath"}, digest: true}, document.Keys{"imagePath": d.Text(&s.Path)})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *Docker) LookedUp() bool { return !s.fixed() }

// Ask fills in the image.
func (s *Docker) Ask(_ Reach, c connector.Connector, a *Asked) (err error) {
	if a.images, err = c.Images(); err != nil {
		return err
	}
	image := connector.RegistryHost(a.images.URL) + "/" + s.Path.Value
	a.Registry = &lookup.Registry{Server: a.images.Server, Repository: s.Path.Value, Image: image}
	a.Name = image
	return nil
}

// Pull fills in the login of the connector.
func (s *Docker) Pull(a Asked, p *task.PullSecret) {
	if a.images.Server.Auth != task.AuthBasic {
		return
	}
	p.Username, p.Password, p.Registry = a.images.Server.Username, a.images.Server.Password, a.images.URL
	if connector.RegistryHost(p.Registry) == connector.DockerHub {
		p.Registry = dockerHub
	}
}
