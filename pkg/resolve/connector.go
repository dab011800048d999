package resolve

import (
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Connector resolves a connector to a system with an HTTP API: its address,
// its credentials as placeholders and the selectors that it adds
// (semantics/entities §9). The reference has been resolved already.
func (s *Scope) Connector(name string) (step.Connector, error) {
	doc, err := s.connector(&yamldoc.Node{Kind: yamldoc.Scalar, Value: name}, s.Execution.Scope)
	if err != nil {
		return step.Connector{}, err
	}
	spec := doc.Get("spec")
	c := step.Connector{Type: text(doc.Get("type")), Selectors: words(spec.Get("delegateSelectors"))}
	for _, key := range []string{"jiraUrl", "serviceNowUrl", "jenkinsUrl", "bambooUrl"} {
		if url := text(spec.Get(key)); url != "" {
			c.Server.URL = url
		}
	}
	auth := spec.Get("auth")
	kind, credentials := text(auth.Get("type")), auth.Get("spec")
	if auth == nil { // as connectors were before they had types of authentication
		kind, credentials = "UsernamePassword", spec
	}
	err = s.credentials(kind, credentials, &c.Server)
	return c, err
}

// credentials fills in how somebody proves to a server who he is.
func (s *Scope) credentials(kind string, spec *yamldoc.Node, to *task.Server) error {
	var err error
	secret := func(key string) string {
		var placeholder string
		if err == nil {
			placeholder, err = s.secretAt(spec.Get(key))
		}
		return placeholder
	}
	switch kind {
	case "Anonymous":
		to.Auth = task.AuthNone
	case "UsernamePassword":
		to.Auth, to.Password = task.AuthBasic, secret("passwordRef")
		if to.Username = text(spec.Get("username")); to.Username == "" {
			to.Username = secret("usernameRef")
		}
	case "PersonalAccessToken":
		to.Auth, to.Token = task.AuthBearer, secret("patRef")
	case "Bearer Token(HTTP Header)":
		to.Auth, to.Token = task.AuthBearer, secret("tokenRef")
	case "RefreshTokenGrantType":
		to.Auth = task.AuthRefreshToken
		to.OAuth = &task.OAuth{
			TokenURL: text(spec.Get("tokenUrl")), RefreshToken: secret("refreshTokenRef"),
			ClientID: secret("clientIdRef"), ClientSecret: secret("clientSecretRef"), Scope: text(spec.Get("scope")),
		}
	default:
		return fault.New(fault.Unsupported, "the authentication %q can't be used yet", kind)
	}
	return err
}
