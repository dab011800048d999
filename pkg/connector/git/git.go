// Package git has the connectors to Git repositories: the type Git for any, and
// those of Git hosts. Which branch and which files are read is said by
// who names a repository.
package git

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// The connector types.
const (
	plain     = "Git"
	github    = "Github"
	gitlab    = "Gitlab"
	bitbucket = "Bitbucket"
	azure     = "AzureRepo"
)

// Types are the connector types.
func Types() []connector.Type {
	hosted := func(typ string) connector.Type {
		return connector.Type{Name: typ, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return &Hosted{decode(d, v, typ)} }}
	}
	of := func(typ string) connector.Type {
		return connector.Type{Name: typ, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return decode(d, v, typ) }}
	}
	return []connector.Type{
		of(plain),
		{Name: github, New: func(d *connector.Decoder, v yamldoc.Value) connector.Spec { return &Hub{Hosted{decode(d, v, github)}} }},
		hosted(gitlab), hosted(bitbucket), hosted(azure),
	}
}

// The levels of a connector and its transports.
const (
	account = "Account"
	project = "Project"
	repo    = "Repo"
	http    = "Http"
	ssh     = "Ssh"
)

// The ways to log in to a Git host.
const (
	token    = "UsernameToken"
	password = "UsernamePassword"
)

// Repository is a connector to Git repositories: one, or all of an account or a
// project. Fields that end in Ref name secrets.
type Repository struct {
	Type           string
	URL            yamldoc.Field[string]
	Level          yamldoc.Field[string] // Account or Repo; of an AzureRepo Project or Repo
	Transport      yamldoc.Field[string] // Http or Ssh
	Auth           yamldoc.Field[string] // of a host's Http
	Login          connector.Login       // none: nobody in particular
	SSHKeyRef      yamldoc.Field[string]
	ValidationRepo yamldoc.Field[string]
	API            API
}

// API is how a Git host's API is reached.
type API struct {
	Type     yamldoc.Field[string]
	TokenRef yamldoc.Field[string]
	// Who the token is of, where the host wants to know.
	Username, UsernameRef, Email, EmailRef yamldoc.Field[string]
}

func decode(d *connector.Decoder, v yamldoc.Value, typ string) *Repository {
	g := &Repository{Type: typ}
	known := document.Merge(d.Common, document.Keys{
		"url":            d.Text(&g.URL),
		"validationRepo": d.Text(&g.ValidationRepo), // its test reads it
	})
	if typ == plain {
		transport := document.Peek(v, "type")
		d.Fields(v, document.Merge(known, document.Keys{
			"connectionType": d.Literal(&g.Level, account, repo),
			"type":           d.Literal(&g.Transport, http, ssh),
			"branchName":     d.Idle("whatever names a repository names its branch", d.Text(nil)),
			"spec":           func(v yamldoc.Value) { g.credentials(d, v, transport) },
		}))
		d.Need(v, "url", "connectionType", "type")
	} else {
		all := account
		if typ == azure {
			all = project
		}
		d.Fields(v, document.Merge(known, document.Keys{
			"type":           d.Literal(&g.Level, all, repo),
			"authentication": func(v yamldoc.Value) { g.authentication(d, v) },
			"apiAccess":      g.API.of(d, typ),
		}))
		d.Need(v, "url", "type", "authentication")
	}
	g.address(d, document.Child(v, "url"))
	return g
}

var scpLike = regexp.MustCompile(`^[^/@\s]+@[^/:\s]+:`)

// address checks that the URL fits the transport.
func (g *Repository) address(d *connector.Decoder, v yamldoc.Value) {
	url := g.URL.Value
	web := strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
	shell := strings.HasPrefix(url, "ssh://") || scpLike.MatchString(url)
	switch {
	case url == "":
	case g.Transport.Value == http && !web:
		d.Errorf(v, document.WrongValue, "found %q; want a URL that starts with https:// or http://, as the authentication is Http", url)
	case g.Transport.Value == ssh && !shell:
		d.Errorf(v, document.WrongValue, "found %q; want git@host:path or ssh://, as the authentication is Ssh", url)
	}
}

// credentials decodes those of the connector type Git.
func (g *Repository) credentials(d *connector.Decoder, v yamldoc.Value, transport string) {
	switch {
	case transport == ssh:
		d.Fields(v, document.Keys{"sshKeyRef": d.Secret(&g.SSHKeyRef)})
		d.Need(v, "sshKeyRef")
	case d.Blank(v):
	default:
		d.Login(v, &g.Login, "passwordRef")
	}
}

// authentication decodes that of a Git host's connector.
func (g *Repository) authentication(d *connector.Decoder, v yamldoc.Value) {
	transport := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&g.Transport, http, ssh),
		"spec": func(v yamldoc.Value) {
			if transport == ssh {
				g.credentials(d, v, transport)
				return
			}
			g.login(d, v)
		},
	})
	d.Need(v, "type", "spec")
}

func (g *Repository) login(d *connector.Decoder, v yamldoc.Value) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&g.Auth, g.Type+" authentication", []string{token, password, "Anonymous"}, "GithubApp", "OAuth", "AccessToken", "Kerberos"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case token:
				d.Login(v, &g.Login, "tokenRef")
			case password:
				d.Login(v, &g.Login, "passwordRef")
			}
		},
	})
	d.Need(v, "type")
	if typ == token || typ == password {
		d.Need(v, "spec")
	}
}

// of reads how the API of a type of Git host is reached: its test asks it with
// a token, and so do steps that work on pull requests.
func (a *API) of(d *connector.Decoder, typ string) document.Rule {
	decode := func(v yamldoc.Value) { a.decode(d, v) }
	can := []string{apiToken}
	if typ == bitbucket {
		can = []string{apiUser, apiAccess, apiEmail}
	}
	return func(v yamldoc.Value) {
		decode(v)
		if kind := document.Peek(v, "type"); !slices.Contains(can, kind) && slices.Contains(apiLogins(), kind) {
			d.Warnf(v.AtKey(), document.NoEffect, "apiAccess has no effect here: the Git host's API is asked with the type %s alone", document.Choice(can))
		}
	}
}

// The types of access to a Git host's API that are used: the last three are
// Bitbucket's.
const (
	apiToken  = "Token"
	apiUser   = "UsernameToken"
	apiAccess = "AccessToken"
	apiEmail  = "EmailAndApiToken"
)

// apiLogins are the types of access to a Git host's API.
func apiLogins() []string {
	return []string{apiToken, "GithubApp", "OAuth", apiUser, apiAccess, apiEmail}
}

// decode reads how a Git host's API is reached. A sample of Harness has its
// spec one level too high, so its absence is none (semantics/entities §9).
func (a *API) decode(d *connector.Decoder, v yamldoc.Value) {
	text, secret := d.Text(nil), d.Secret(new(yamldoc.Field[string]))
	d.Fields(v, document.Keys{
		"type": d.Literal(&a.Type, apiLogins()...),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"tokenRef":          d.Secret(&a.TokenRef),
				"apiTokenRef":       d.Secret(&a.TokenRef),
				"privateKeyRef":     secret,
				"username":          d.Text(&a.Username),
				"usernameRef":       d.Secret(&a.UsernameRef),
				"email":             d.Text(&a.Email),
				"emailRef":          d.Secret(&a.EmailRef),
				"installationId":    text,
				"installationIdRef": secret,
				"applicationId":     text,
				"applicationIdRef":  secret,
			})
		},
	})
	d.Need(v, "type")
}

// many says whether the connector is for all repositories of an account or a
// project.
func (g *Repository) many() bool { return g.Level.Value == account || g.Level.Value == project }

// repository is the URL of a repository: for an account or a project, its name
// is appended.
func (g *Repository) repository(name string) string {
	url := strings.TrimSuffix(g.URL.Value, "/")
	switch {
	case !g.many() || name == "":
		return url
	case g.Type == azure && strings.HasPrefix(url, "http"):
		return url + "/_git/" + name
	}
	return url + "/" + name
}

// Listens is the URL of the repository, or that which those of an account's
// begin with.
func (g *Repository) Listens() string {
	if g.Level.Value == account {
		return strings.TrimRight(g.URL.Value, "/") + "/"
	}
	return g.URL.Value
}

// Git is a repository, for a delegate.
func (g *Repository) Git(r connector.Reach, name string) (task.Git, error) {
	out := task.Git{URL: g.repository(name)}
	var err error
	if g.Transport.Value != ssh {
		out.Username, out.Password, err = g.Login.Resolve(r)
		return out, err
	}
	login, err := r.SSHKey(g.SSHKeyRef.Value)
	if err != nil {
		return out, err
	}
	if login.Key == "" {
		return out, fault.New(fault.Unsupported, "secret %s: only SSH keys by reference can be used yet", g.SSHKeyRef.Value)
	}
	out.SSHUser, out.SSHKey, out.SSHPassphrase = login.User, login.Key, login.Passphrase
	return out, nil
}

// Probe reads the branches of the connector's repository; of an account's or a
// project's, those of its validationRepo.
func (g *Repository) Probe(r connector.Reach) (connector.Probe, error) {
	p := &probe.Git{Whole: g.many() && g.ValidationRepo.Value == ""}
	var err error
	if p.API, err = g.api(r); err != nil {
		return connector.Probe{}, err
	}
	p.Git, err = g.Git(r, g.ValidationRepo.Value)
	return connector.Probe{Task: probe.Spec{Git: p}}, err
}

// api asks the API of a Git host who the connector is; nil if it has no access
// to it that could be used.
func (g *Repository) api(r connector.Reach) (*probe.Requests, error) {
	at, err := url.Parse(g.URL.Value)
	if err != nil || at.Host == "" || g.API.Type.Value != apiToken {
		return nil, nil //nolint:nilnil // there is none
	}
	token, err := r.Secret(g.API.TokenRef)
	if err != nil || token == "" {
		return nil, err
	}
	p := &probe.Requests{Server: task.Server{URL: at.Scheme + "://" + at.Host, Auth: task.AuthBearer, Token: token}}
	switch {
	case g.Type == github && at.Host == "github.com":
		p.Server.URL, p.Path = "https://api.github.com", "/user"
	case g.Type == github:
		p.Path = "/api/v3/user"
	case g.Type == gitlab:
		p.Path = "/api/v4/user"
	case g.Type == azure:
		organization, _, _ := strings.Cut(strings.Trim(at.Path, "/"), "/")
		p.Server.Auth, p.Server.Token, p.Server.Password = task.AuthBasic, "", token
		p.Path = "/" + url.PathEscape(organization) + "/_apis/projects?api-version=7.0&$top=1"
	default:
		return nil, nil //nolint:nilnil // it isn't known how
	}
	return p, nil
}

// Hub is a connector to GitHub, or to a GitHub Enterprise Server. It keeps
// packages, too.
type Hub struct{ Hosted }

// Packages are those of the host.
func (g *Hub) Packages(r connector.Reach) (connector.PackageHost, error) {
	out := connector.PackageHost{URL: g.URL.Value}
	var err error
	if g.Transport.Value != ssh {
		if out.Username, out.Password, err = g.Login.Resolve(r); err != nil {
			return out, err
		}
	}
	out.Token, err = r.Secret(g.API.TokenRef)
	return out, err
}
