package entity

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// ServerConnector is a connector to a system with an HTTP API: its address and
// how somebody proves who he is (semantics/entities §9).
type ServerConnector struct {
	URL   yamldoc.Field[string]
	Auth  Auth // type "": legacy top-level credentials
	OAuth OAuth
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

// The types of authentication that several connectors have.
const (
	authPassword = "UsernamePassword"
	authNobody   = "Anonymous"
	authToken    = "PersonalAccessToken"
	authHeader   = "Bearer Token(HTTP Header)"
	authRefresh  = "RefreshTokenGrantType"
)

// serverType is what one type of connector calls things.
type serverType struct {
	url    string   // the key of its address
	can    []string // types of authentication
	cannot []string // those that Harness has besides
	// version has the values of the key of that name, which is needed then;
	// older those that Harness has besides.
	version, older []string
	legacy         bool // credentials may stand beside auth, in which case auth may be absent
	registry       bool // the address is a registry's, with oci:// before it or nothing
}

// serverConnectors says what the connectors to HTTP APIs call things.
func serverConnectors() map[string]serverType {
	return map[string]serverType{
		"Jira": {url: "jiraUrl", can: []string{authPassword, authToken}, cannot: []string{"OAuth"}, legacy: true},
		"ServiceNow": {
			url: "serviceNowUrl", can: []string{authPassword, authRefresh},
			cannot: []string{"AdfsClientCredentialsWithCertificate"}, legacy: true,
		},
		"Jenkins": {url: "jenkinsUrl", can: []string{authPassword, authHeader, authNobody}},
		"Bamboo":  {url: "bambooUrl", can: []string{authPassword}},
		"Nexus":   {url: "nexusServerUrl", can: []string{authPassword, authNobody}, version: []string{"3.x"}, older: []string{"2.x"}},

		"Artifactory": {url: "artifactoryServerUrl", can: []string{authPassword, authNobody}},

		"HttpHelmRepo": {url: "helmRepoUrl", can: []string{authPassword, authNobody}},
		"OciHelmRepo":  {url: "helmRepoUrl", can: []string{authPassword, authNobody}, registry: true},
	}
}

func serverConnectorTypes() []string {
	return []string{"Jira", "ServiceNow", "Jenkins", "Bamboo", "Nexus", "Artifactory", "HttpHelmRepo", "OciHelmRepo"}
}

func (d *decoder) serverConnector(v yamldoc.Value, typ string, common document.Keys, s *ServerConnector) {
	t := serverConnectors()[typ]
	known := document.Merge(common, document.Keys{
		t.url: func(v yamldoc.Value) {
			if t.registry {
				d.registryAddress(v, &s.URL)
				return
			}
			d.webAddress(v, &s.URL)
		},
		"auth": func(v yamldoc.Value) { d.serverAuth(v, typ, t, s) },
	})
	if len(t.version) > 0 {
		var version yamldoc.Field[string]
		known["version"] = d.Supported(&version, "version of "+typ, t.version, t.older...)
		d.Need(v, "version")
	}
	if t.legacy {
		// Harness's editor repeats the credentials beside auth, which decides.
		var old Auth
		into := &old
		if document.Child(v, "auth").Null() {
			into = &s.Auth
		}
		known = document.Merge(known, document.Keys{
			"username": d.Text(&into.Username), "usernameRef": d.secretRef(&into.UsernameRef), "passwordRef": d.secretRef(&into.PasswordRef),
		})
	}
	d.Fields(v, known)
	d.Need(v, t.url)
	if !t.legacy || document.Child(v, "passwordRef").Null() {
		d.Need(v, "auth")
	}
}

// webAddress decodes the address of an HTTP API.
func (d *decoder) webAddress(v yamldoc.Value, f *yamldoc.Field[string]) {
	*f = d.String(v)
	if f.Value != "" && !strings.HasPrefix(f.Value, "http://") && !strings.HasPrefix(f.Value, "https://") {
		d.Errorf(v, document.WrongValue, "found %q; want a URL that starts with https:// or http://", f.Value)
	}
}

// registryAddress decodes the address of a registry of charts.
func (d *decoder) registryAddress(v yamldoc.Value, f *yamldoc.Field[string]) {
	*f = d.String(v)
	if scheme, _, ok := strings.Cut(f.Value, "://"); ok && scheme != "oci" && scheme != "https" {
		d.Errorf(v, document.WrongValue, "found %q; want a registry such as oci://registry.example.com/charts", f.Value)
	}
}

func (d *decoder) serverAuth(v yamldoc.Value, name string, t serverType, s *ServerConnector) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&s.Auth.Type, name+" authentication", t.can, t.cannot...),
		"spec": func(v yamldoc.Value) {
			switch typ {
			case authPassword:
				d.login(v, &s.Auth, "passwordRef")
			case authToken:
				d.Fields(v, document.Keys{"patRef": d.secretRef(&s.Auth.TokenRef)})
				d.Need(v, "patRef")
			case authHeader:
				d.Fields(v, document.Keys{"tokenRef": d.secretRef(&s.Auth.TokenRef)})
				d.Need(v, "tokenRef")
			case authRefresh:
				d.refreshToken(v, &s.OAuth)
			}
		},
	})
	d.Need(v, "type")
	if typ != "" && typ != authNobody {
		d.Need(v, "spec")
	}
}

func (d *decoder) refreshToken(v yamldoc.Value, o *OAuth) {
	d.Fields(v, document.Keys{
		"tokenUrl":        func(v yamldoc.Value) { d.webAddress(v, &o.TokenURL) },
		"refreshTokenRef": d.secretRef(&o.RefreshTokenRef),
		"clientIdRef":     d.secretRef(&o.ClientIDRef),
		"clientSecretRef": d.secretRef(&o.ClientSecretRef),
		"scope":           d.Text(&o.Scope),
	})
	d.Need(v, "tokenUrl", "refreshTokenRef", "clientIdRef")
}
