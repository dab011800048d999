package connector

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Secret fills a field with the name of a secret.
func (d *Decoder) Secret(f *yamldoc.Field[string]) document.Rule { return d.Reference(ref.Secret, f) }

// Login is a user's name, plain or secret, and a secret. Fields that end in Ref
// name secrets.
type Login struct {
	Username    yamldoc.Field[string]
	UsernameRef yamldoc.Field[string]
	SecretRef   yamldoc.Field[string]
}

// LeftOver warns of a spec that isn't of the type beside it: that of a type which
// needs none, such as keys where the delegate's own credentials are taken.
func (d *Decoder) LeftOver(v yamldoc.Value, typ string) {
	if !document.Neutral(v.Node) {
		d.Warnf(v.AtKey(), document.NoEffect, "spec has no effect here: the type %s has none", typ)
	}
}

// Login decodes a user's name with a secret under a key.
func (d *Decoder) Login(v yamldoc.Value, l *Login, key string) {
	d.Fields(v, document.Keys{"username": d.Text(&l.Username), "usernameRef": d.Secret(&l.UsernameRef), key: d.Secret(&l.SecretRef)})
	d.Need(v, key)
	if document.Neutral(v.Node.Get("username")) && document.Neutral(v.Node.Get("usernameRef")) && v.Is(yamldoc.Mapping) {
		d.Errorf(v, document.MissingKey, "one of the keys username, usernameRef is missing")
	}
}

// Resolve gives the user's name and the placeholder of the secret. A name that
// is said in plain words wins over one that is secret.
func (l Login) Resolve(r Reach) (user, secret string, err error) {
	if secret, err = r.Secret(l.SecretRef); err != nil {
		return "", "", err
	}
	if user = l.Username.Value; user == "" {
		user, err = r.Secret(l.UsernameRef)
	}
	return user, secret, err
}

// The types of authentication that several connectors have.
const (
	AuthPassword = "UsernamePassword"
	AuthNobody   = "Anonymous"
	AuthToken    = "PersonalAccessToken"
	AuthHeader   = "Bearer Token(HTTP Header)"
	AuthRefresh  = "RefreshTokenGrantType"
)

// Auth is how somebody proves to a system with an HTTP API who he is. Its type
// says which of the others are set.
type Auth struct {
	Type     yamldoc.Field[string]
	Login    Login
	TokenRef yamldoc.Field[string]
	OAuth    OAuth
}

// OAuth is how an access token is fetched with a refresh token. Fields that
// end in Ref name secrets.
type OAuth struct {
	TokenURL        yamldoc.Field[string]
	RefreshTokenRef yamldoc.Field[string]
	ClientIDRef     yamldoc.Field[string]
	ClientSecretRef yamldoc.Field[string]
	Scope           yamldoc.Field[string]
}

// Auth decodes {type, spec}. what is the words for messages; cannot are types
// that Harness has besides.
func (d *Decoder) Auth(a *Auth, what string, can []string, cannot ...string) document.Rule {
	return func(v yamldoc.Value) {
		typ := document.Peek(v, "type")
		d.Fields(v, document.Keys{
			"type": d.Supported(&a.Type, what, can, cannot...),
			"spec": func(v yamldoc.Value) {
				switch typ {
				case AuthPassword:
					d.Login(v, &a.Login, "passwordRef")
				case AuthToken:
					d.Fields(v, document.Keys{"patRef": d.Secret(&a.TokenRef)})
					d.Need(v, "patRef")
				case AuthHeader:
					d.Fields(v, document.Keys{"tokenRef": d.Secret(&a.TokenRef)})
					d.Need(v, "tokenRef")
				case AuthRefresh:
					d.refreshToken(v, &a.OAuth)
				}
			},
		})
		d.Need(v, "type")
		if typ != "" && typ != AuthNobody && (len(cannot) > 0 || slices.Contains(can, typ)) {
			d.Need(v, "spec")
		}
	}
}

func (d *Decoder) refreshToken(v yamldoc.Value, o *OAuth) {
	d.Fields(v, document.Keys{
		"tokenUrl":        d.WebAddress(&o.TokenURL),
		"refreshTokenRef": d.Secret(&o.RefreshTokenRef),
		"clientIdRef":     d.Secret(&o.ClientIDRef),
		"clientSecretRef": d.Secret(&o.ClientSecretRef),
		"scope":           d.Text(&o.Scope),
	})
	d.Need(v, "tokenUrl", "refreshTokenRef", "clientIdRef")
}

// Server is the system at a URL, with who asks it.
func (a Auth) Server(r Reach, url string) (task.Server, error) {
	s := task.Server{URL: url, Auth: task.AuthNone}
	var err error
	secret := func(f yamldoc.Field[string]) string {
		var placeholder string
		if err == nil {
			placeholder, err = r.Secret(f)
		}
		return placeholder
	}
	switch a.Type.Value {
	case AuthPassword:
		s.Auth = task.AuthBasic
		s.Username, s.Password, err = a.Login.Resolve(r)
	case AuthToken, AuthHeader:
		s.Auth, s.Token = task.AuthBearer, secret(a.TokenRef)
	case AuthRefresh:
		s.Auth = task.AuthRefreshToken
		s.OAuth = &task.OAuth{
			TokenURL: a.OAuth.TokenURL.Value, RefreshToken: secret(a.OAuth.RefreshTokenRef),
			ClientID: secret(a.OAuth.ClientIDRef), ClientSecret: secret(a.OAuth.ClientSecretRef), Scope: a.OAuth.Scope.Value,
		}
	}
	return s, err
}

// WebAddress fills a field with the address of an HTTP API.
func (d *Decoder) WebAddress(f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		*f = d.String(v)
		if f.Value != "" && !strings.HasPrefix(f.Value, "http://") && !strings.HasPrefix(f.Value, "https://") {
			d.Errorf(v, document.WrongValue, "found %q; want a URL that starts with https:// or http://", f.Value)
		}
	}
}

// roleARN is what a role's name is from AWS's point of view.
var roleARN = regexp.MustCompile(`^arn:[a-z-]+:iam::\d{12}:role/.+$`)

// Role fills a field with the ARN of a role of AWS.
func (d *Decoder) Role(f *yamldoc.Field[string]) document.Rule {
	return func(v yamldoc.Value) {
		if *f = d.String(v); f.Value != "" && !roleARN.MatchString(f.Value) {
			d.Errorf(v, document.WrongValue, "found %q; want the ARN of a role, such as arn:aws:iam::123456789012:role/deployer", f.Value)
		}
	}
}
