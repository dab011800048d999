package entity

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
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

func (d *decoder) gitConnector(v yamldoc.Value, typ string, common document.Keys, g *GitConnector) {
	known := document.Merge(common, document.Keys{
		"url":            d.Text(&g.URL),
		"validationRepo": d.Text(&g.ValidationRepo), // its test reads it
	})
	if typ == "Git" {
		transport := document.Peek(v, "type")
		d.Fields(v, document.Merge(known, document.Keys{
			"connectionType": d.Literal(&g.Level, "Account", "Repo"),
			"type":           d.Literal(&g.Transport, "Http", "Ssh"),
			"branchName":     d.Idle("whatever names a repository names its branch", d.Text(&g.BranchName)),
			"spec":           func(v yamldoc.Value) { d.plainGitAuth(v, transport, &g.Auth) },
		}))
		d.Need(v, "url", "connectionType", "type")
	} else {
		all := "Account"
		if typ == "AzureRepo" {
			all = "Project"
		}
		d.Fields(v, document.Merge(known, document.Keys{
			"type":           d.Literal(&g.Level, all, "Repo"),
			"authentication": func(v yamldoc.Value) { d.gitAuth(v, typ, g) },
			"apiAccess":      d.apiAccessOf(typ),
		}))
		d.Need(v, "url", "type", "authentication")
	}
	d.gitURL(document.Child(v, "url"), g)
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
		d.Errorf(v, document.WrongValue, "found %q; want a URL that starts with https:// or http://, as the authentication is Http", url)
	case g.Transport.Value == "Ssh" && !ssh:
		d.Errorf(v, document.WrongValue, "found %q; want git@host:path or ssh://, as the authentication is Ssh", url)
	}
}

// plainGitAuth decodes the credentials of the connector type Git.
func (d *decoder) plainGitAuth(v yamldoc.Value, transport string, a *Auth) {
	switch {
	case transport == "Ssh":
		d.Fields(v, document.Keys{"sshKeyRef": d.secretRef(&a.SSHKeyRef)})
		d.Need(v, "sshKeyRef")
	case d.Blank(v):
	default:
		d.login(v, a, "passwordRef")
	}
}

// gitAuth decodes the authentication of a Git host's connector.
func (d *decoder) gitAuth(v yamldoc.Value, host string, g *GitConnector) {
	transport := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&g.Transport, "Http", "Ssh"),
		"spec": func(v yamldoc.Value) {
			if transport == "Ssh" {
				d.plainGitAuth(v, transport, &g.Auth)
				return
			}
			d.httpAuth(v, host, &g.Auth)
		},
	})
	d.Need(v, "type", "spec")
}

func (d *decoder) httpAuth(v yamldoc.Value, host string, a *Auth) {
	typ := document.Peek(v, "type")
	can := []string{"UsernameToken", "UsernamePassword", "Anonymous"}
	d.Fields(v, document.Keys{
		"type": d.Supported(&a.Type, host+" authentication", can, "GithubApp", "OAuth", "AccessToken", "Kerberos"),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "UsernameToken":
				d.login(v, a, "tokenRef")
			case "UsernamePassword":
				d.login(v, a, "passwordRef")
			}
		},
	})
	d.Need(v, "type")
	if typ == "UsernameToken" || typ == "UsernamePassword" {
		d.Need(v, "spec")
	}
}

// apiAccessOf reads how the API of a type of Git host is reached: its test asks it
// with a token.
func (d *decoder) apiAccessOf(typ string) func(yamldoc.Value) {
	if typ == "Bitbucket" {
		return d.Idle("nothing asks Bitbucket's API; its webhooks are set up there, see docs/triggers.md", d.apiAccess)
	}
	return func(v yamldoc.Value) {
		d.apiAccess(v)
		if kind := document.Peek(v, "type"); kind != "Token" && slices.Contains(apiLogins(), kind) {
			d.Warnf(v.AtKey(), document.NoEffect, "apiAccess has no effect here: the Git host's API is asked with the type Token alone")
		}
	}
}

// apiLogins are the types of access to a Git host's API.
func apiLogins() []string {
	return []string{"Token", "GithubApp", "OAuth", "UsernameToken", "AccessToken", "EmailAndApiToken"}
}

// apiAccess reads how a Git host's API is reached. A sample of Harness has its
// spec one level too high, so its absence is none (semantics/entities §9).
func (d *decoder) apiAccess(v yamldoc.Value) {
	var field yamldoc.Field[string]
	text, secret := d.Text(&field), d.secretRef(&field)
	d.Fields(v, document.Keys{
		"type": d.Literal(&field, apiLogins()...),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
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
	d.Need(v, "type")
}
