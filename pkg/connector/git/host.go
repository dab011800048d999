package git

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Hosted is a connector to a Git host, which has pull requests.
type Hosted struct{ *Repository }

// place is where a repository is on its host: the host's own address, and the path
// to the repository there.
func (g *Hosted) place(repository string) (*url.URL, string, error) {
	text := g.repository(repository)
	if at := scpLike.FindString(text); at != "" { // git@host:path
		_, host, _ := strings.Cut(strings.TrimSuffix(at, ":"), "@")
		text = "https://" + host + "/" + strings.TrimPrefix(text, at)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, "", fault.New(fault.Invalid, "the URL %q names no host", g.URL.Value)
	}
	path := strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
	if u.Scheme == "ssh" {
		u.Scheme, u.Host = "https", u.Hostname()
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, path, nil
}

// Host is where the pull requests of the connector's repository are, or of the named
// one of its account or its project.
func (g *Hosted) Host(r connector.Reach, repository string) (task.GitHost, error) {
	at, path, err := g.place(repository)
	if err != nil {
		return task.GitHost{}, err
	}
	h := task.GitHost{Type: g.Type, Repository: path, Server: task.Server{URL: at.String(), Auth: task.AuthBearer}}
	switch g.Type {
	case github:
		if h.Server.URL += "/api/v3"; at.Host == "github.com" {
			h.Server.URL = "https://api.github.com"
		}
	case gitlab:
		h.Server.URL += "/api/v4"
	case azure:
		if strings.HasPrefix(at.Host, "ssh.") { // v3/organization/project/repository
			h.Server.URL, path = "https://dev.azure.com", strings.TrimPrefix(path, "v3/")
		}
		h.Repository = strings.Replace(path, "/_git/", "/", 1)
	case bitbucket:
		if at.Host == "bitbucket.org" {
			h.Server.URL = "https://api.bitbucket.org"
		}
		h.Server.URL += "/2.0"
	}
	return h, g.apiLogin(r, &h.Server)
}

// apiLogin says who asks the API.
func (g *Hosted) apiLogin(r connector.Reach, s *task.Server) error {
	token, err := r.Secret(g.API.TokenRef)
	if err != nil {
		return err
	}
	want := apiToken
	if g.Type == bitbucket {
		want = apiUser + ", " + apiAccess + " or " + apiEmail
	}
	if token == "" || !strings.Contains(want, g.API.Type.Value) || g.API.Type.Value == "" {
		return fault.New(fault.Invalid, "it has no apiAccess by which pull requests can be made; want one of the type %s, with its token", want)
	}
	name := func(plain, secret yamldoc.Field[string]) (string, error) {
		hidden, err := r.Secret(secret)
		return cmp.Or(plain.Value, hidden), err
	}
	switch {
	case g.Type == azure:
		s.Auth, s.Password = task.AuthBasic, token
	case g.API.Type.Value == apiUser:
		s.Auth, s.Password = task.AuthBasic, token
		s.Username, err = name(g.API.Username, g.API.UsernameRef)
	case g.API.Type.Value == apiEmail:
		s.Auth, s.Password = task.AuthBasic, token
		s.Username, err = name(g.API.Email, g.API.EmailRef)
	default:
		s.Token = token
	}
	return err
}
