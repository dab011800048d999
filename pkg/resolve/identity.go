package resolve

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/printable"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Identity is as whom the connector's tasks show up before an audience
// (connector.Reach). The subject is that of the connector's own scope: whoever
// may save connectors there can have it, and nobody in another project.
func (c connecting) Identity(audience string, tags []string) (name, subject string) {
	i := identity.Identity{Audience: audience, Subject: identity.Subject(c.of.Scope), Claims: claims(c.scope, c.of), Tags: tags}
	name = nameOf(i)
	c.scope.secrets.identities[name] = i
	return name, i.Subject
}

// longestAudience is more than the names of clouds are long.
const longestAudience = 512

// token is the handle of a token that a step shows to an audience as its
// execution's own scope. AWS's isn't among them: there a connector's subject
// would be the step's, too, and whatever it runs could take the connector's role.
func token(s *Scope, audience string) (expr.Value, error) {
	switch {
	case s.Node.Kind != plan.KindStep:
		return expr.Null(), fault.New(fault.Invalid, "oidc.token(%q): only steps have tokens", audience)
	case audience == "" || len(audience) > longestAudience || !printable.Clean(audience):
		return expr.Null(), fault.New(fault.Invalid, "oidc.token(%.64q): want for whom the token is, such as \"vault\"", audience)
	case audience == identity.AWSAudience:
		return expr.Null(), fault.New(fault.Invalid, "oidc.token(%q): only connectors of the type OidcAuthentication have tokens for AWS's own audience; have the identity provider take another", audience)
	}
	i := identity.Identity{Audience: audience, Subject: identity.Subject(s.Execution.Scope), Claims: claims(s, ref.Ref{})}
	delete(i.Claims, identity.Connector)
	name := nameOf(i)
	s.secrets.identities[name] = i
	for placeholder, late := range s.secrets.late {
		if late.Token == name {
			return expr.SecretRef(placeholder), nil
		}
	}
	return s.secrets.lateSecret(task.LateSecret{Token: name}), nil
}

// nameOf names an identity by what an audience sees of it, so that the tasks of
// an execution can share what they get for it. Those of one task that have the
// same name are the same.
func nameOf(i identity.Identity) string {
	text := fmt.Sprintf("%q %q %q", i.Audience, i.Subject, i.Claims[identity.Connector])
	for _, tag := range i.Tags {
		text += fmt.Sprintf(" %q %q", tag, i.Claims[tag])
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("identity-%x", sum[:12])
}

// qualified is a connector's name as documents of a project have it.
func qualified(connector ref.Ref) string {
	switch s := connector.Scope; {
	case s.Org == "":
		return "account." + connector.ID
	case s.Project == "":
		return "org." + connector.ID
	}
	return connector.ID
}

// claims say for what a scope's node uses a connector.
func claims(s *Scope, connector ref.Ref) map[string]string {
	e := s.Execution
	out := map[string]string{
		identity.Account: e.Scope.Account, identity.Org: e.Scope.Org, identity.Project: e.Scope.Project,
		identity.Connector: qualified(connector), identity.Pipeline: e.Pipeline, identity.Context: "execution",
	}
	if strings.Contains(e.Actor, "@") {
		out[identity.Email] = e.Actor
	}
	if s.Node.Kind == plan.KindStep {
		out[identity.StepType] = s.Node.Type
	}
	switch {
	case s.Node.Type == plan.TypeProbe:
		out[identity.Context], out[identity.Pipeline] = "test", ""
	case e.Preview:
		out[identity.Context] = "preview"
	}
	if d, err := s.deployments().of(s.Node.Stage()); err == nil {
		out[identity.Service], out[identity.Environment] = d.ServiceRef, d.EnvironmentRef
		out[identity.EnvironmentType] = d.environment.Type.Text
	}
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

// Identities are those that connectors were given, by their names.
func (s *Scope) Identities() map[string]identity.Identity {
	if len(s.secrets.identities) == 0 {
		return nil
	}
	out := make(map[string]identity.Identity, len(s.secrets.identities))
	for name, i := range s.secrets.identities {
		i.Tags = slices.Clone(i.Tags)
		out[name] = i
	}
	return out
}
