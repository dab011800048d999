package entity

import (
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// GitConnector is a connector to Git repositories: one, or all of an account.
type GitConnector struct {
	URL            yamldoc.Field[string]
	Level          yamldoc.Field[string] // Account or Repo; of an AzureRepo Project or Repo
	Transport      yamldoc.Field[string] // Http or Ssh
	Auth           Auth                  // type "": nobody in particular
	BranchName     yamldoc.Field[string]
	ValidationRepo yamldoc.Field[string]
}

func gitConnectors() []string { return []string{"Git", "Github", "Gitlab", "Bitbucket", "AzureRepo"} }

func (d *decoder) gitConnector(v yamldoc.Value, typ string, common keys, g *GitConnector) {
	known := merge(common, keys{
		"url":            d.text(&g.URL),
		"validationRepo": d.idle("saving a connector tests no connection", d.text(&g.ValidationRepo)),
	})
	if typ == "Git" {
		transport := peek(v, "type")
		d.fields(v, merge(known, keys{
			"connectionType": d.literal(&g.Level, "Account", "Repo"),
			"type":           d.literal(&g.Transport, "Http", "Ssh"),
			"branchName":     d.idle("whatever names a repository names its branch", d.text(&g.BranchName)),
			"spec":           func(v yamldoc.Value) { d.plainGitAuth(v, transport, &g.Auth) },
		}))
		d.need(v, "url", "connectionType", "type")
	} else {
		all := "Account"
		if typ == "AzureRepo" {
			all = "Project"
		}
		d.fields(v, merge(known, keys{
			"type":           d.literal(&g.Level, all, "Repo"),
			"authentication": func(v yamldoc.Value) { d.gitAuth(v, typ, g) },
			"apiAccess":      d.idle("nothing asks the Git host's API; its webhooks are set up there, see docs/triggers.md", d.apiAccess),
		}))
		d.need(v, "url", "type", "authentication")
	}
	d.gitURL(child(v, "url"), g)
}

var scpLike = regexp.MustCompile(`^[^/@\s]+@[^/:\s]+:`)

// gitURL checks that a URL fits the transport.
func (d *decoder) gitURL(v yamldoc.Value, g *GitConnector) {
	url := g.URL.Value
	web := strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://")
	ssh := strings.HasPrefix(url, "ssh://") || scpLike.MatchString(url)
	switch {
	case url == "":
	case g.Transport.Value == "Http" && !web:
		d.Errorf(v, wrongValue, "found %q; want a URL that starts with https:// or http://, as the authentication is Http", url)
	case g.Transport.Value == "Ssh" && !ssh:
		d.Errorf(v, wrongValue, "found %q; want git@host:path or ssh://, as the authentication is Ssh", url)
	}
}

// plainGitAuth decodes the credentials of the connector type Git.
func (d *decoder) plainGitAuth(v yamldoc.Value, transport string, a *Auth) {
	switch {
	case transport == "Ssh":
		d.fields(v, keys{"sshKeyRef": d.secretRef(&a.SSHKeyRef)})
		d.need(v, "sshKeyRef")
	case neutral(v.Node):
	default:
		d.login(v, a, "passwordRef")
	}
}

// gitAuth decodes the authentication of a Git host's connector.
func (d *decoder) gitAuth(v yamldoc.Value, host string, g *GitConnector) {
	transport := peek(v, "type")
	d.fields(v, keys{
		"type": d.literal(&g.Transport, "Http", "Ssh"),
		"spec": func(v yamldoc.Value) {
			if transport == "Ssh" {
				d.plainGitAuth(v, transport, &g.Auth)
				return
			}
			d.httpAuth(v, host, &g.Auth)
		},
	})
	d.need(v, "type", "spec")
}

func (d *decoder) httpAuth(v yamldoc.Value, host string, a *Auth) {
	typ := peek(v, "type")
	can := []string{"UsernameToken", "UsernamePassword", "Anonymous"}
	d.fields(v, keys{
		"type": d.supported(&a.Type, host+" authentication", can, "GithubApp", "OAuth", "AccessToken", "Kerberos"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "UsernameToken":
				d.login(v, a, "tokenRef")
			case "UsernamePassword":
				d.login(v, a, "passwordRef")
			}
		},
	})
	d.need(v, "type")
	if typ == "UsernameToken" || typ == "UsernamePassword" {
		d.need(v, "spec")
	}
}

// apiAccess reads how a Git host's API is reached. A sample of Harness has its
// spec one level too high, so its absence is none (entities spec §9).
func (d *decoder) apiAccess(v yamldoc.Value) {
	var field yamldoc.Field[string]
	text, secret := d.text(&field), d.secretRef(&field)
	d.fields(v, keys{
		"type": d.literal(&field, "Token", "GithubApp", "OAuth", "UsernameToken", "AccessToken", "EmailAndApiToken"),
		"spec": func(v yamldoc.Value) {
			d.fields(v, keys{
				"tokenRef":          secret,
				"apiTokenRef":       secret,
				"privateKeyRef":     secret,
				"username":          text,
				"usernameRef":       secret,
				"email":             text,
				"emailRef":          secret,
				"installationId":    text,
				"installationIdRef": secret,
				"applicationId":     text,
				"applicationIdRef":  secret,
			})
		},
	})
	d.need(v, "type")
}
