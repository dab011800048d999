package resolve_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/planning"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/resolve"
	"github.com/slipway-cd/slipway/pkg/store"
)

// webEntities has a connector of OidcAuthentication in each scope.
type webEntities struct{ store.Entities }

func (webEntities) Entity(_ context.Context, k store.EntityKey) (store.Entity, error) {
	if k.ID != "aws" {
		return store.Entity{}, fault.New(fault.NotFound, "no %s", k.ID)
	}
	return store.Entity{Key: k, YAML: []byte(`connector: {identifier: aws, type: Aws, spec: {credential: {type: OidcAuthentication,
  spec: {iamRoleArn: "arn:aws-us-gov:iam::123456789012:role/r", sessionTagKeys: [environment_id, project_id]}}}}`)}, nil
}

// webScope is the scope of a step of a stage that deploys to an environment.
func webScope(t *testing.T, environment, step string) *resolve.Scope {
	t.Helper()
	p, err := planning.Build(planning.Source{
		LookedUp: builtin.Types().Artifacts.LookedUp,
		Pipeline: pipelineOf(t, pipelineYAML),
		Deployments: map[string]*plan.Deployment{"deploy": {
			Type: "Kubernetes", ServiceRef: "org.shop", EnvironmentRef: environment, Service: parse(t, "identifier: shop"),
			Environment: parse(t, "{identifier: x, type: PreProduction}"), Infrastructure: parse(t, infrastructureYAML),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	node := p.Node("pipeline.stages.deploy.spec.execution.steps.roll")
	node.Type = step
	return resolve.New(resolve.Config{
		Types: builtin.Types(), Context: t.Context(), Plan: p, Node: node, Entities: webEntities{}, Now: time.Unix(1000, 0),
		State: func(plan.NodeID) plan.State { return plan.State{Status: plan.Success} },
		Execution: store.Execution{
			ID: "x1", Pipeline: "release", Actor: "ada@example.com", Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"},
		},
	})
}

// identityOf is the one identity that a connector gets, with its name.
func identityOf(t *testing.T, s *resolve.Scope, connector string) (string, identity.Identity) {
	t.Helper()
	c, err := s.Connector(connector)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.AWS("us-gov-west-1")
	if err != nil {
		t.Fatal(err)
	}
	all := s.Identities()
	i, ok := all[a.Web.Identity]
	if !ok || len(all) != 1 || a.Web.Role != "arn:aws-us-gov:iam::123456789012:role/r" || a.Web.Subject != i.Subject || len(s.Secrets()) != 0 {
		t.Fatalf("the account is %+v, the identities are %v", a.Web, all)
	}
	return a.Web.Identity, i
}

// A subject ends with the connector's scope: what another project saves never
// gets this one's.
func TestASubjectIsTheConnectors(t *testing.T) {
	t.Parallel()
	for connector, want := range map[string]string{
		"aws": "account:acme:org:default:project:web", "org.aws": "account:acme:org:default", "account.aws": "account:acme",
	} {
		_, got := identityOf(t, webScope(t, "account.prod", "ShellScript"), connector)
		if d := cmp.Diff(identity.Identity{
			Audience: "sts.amazonaws.com", Subject: want, Tags: []string{"environment_id", "project_id"},
			Claims: map[string]string{
				"account_id": "acme", "organization_id": "default", "project_id": "web", "connector_id": connector, "environment_id": "account.prod",
				"environment_type": "PreProduction", "service_id": "org.shop", "pipeline_id": "release", "step_type": "ShellScript",
				"triggered_by_email": "ada@example.com", "context": "execution",
			},
		}, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", connector, d)
		}
	}
}

// A step's own token is the execution's scope's, for whom the step says, and is
// one however often it is asked for.
func TestATokenOfAStep(t *testing.T) {
	t.Parallel()
	s := webScope(t, "account.prod", "ShellScript")
	text, err := s.Text(`a <+oidc.token("vault")> b <+oidc.token("vault")> c <+oidc.token("gcp")>`)
	if err != nil {
		t.Fatal(err)
	}
	late, all := s.LateSecrets(), s.Identities()
	if len(late) != 2 || len(all) != 2 || !s.Hidden() || len(s.Secrets()) != 0 {
		t.Fatalf("%q has %v and %v", text, late, all)
	}
	for placeholder, made := range late {
		i := all[made.Token]
		if n := strings.Count(text, placeholder); n != map[string]int{"vault": 2, "gcp": 1}[i.Audience] {
			t.Errorf("the token for %s is %d times in %q", i.Audience, n, text)
		}
		if i.Subject != "account:acme:org:default:project:web" || i.Claims["connector_id"] != "" || i.Claims["step_type"] != "ShellScript" || len(i.Tags) != 0 {
			t.Errorf("the identity is %+v", i)
		}
	}
	for text, want := range map[string]string{
		`<+oidc.token("sts.amazonaws.com")>`: "only connectors of the type OidcAuthentication", `<+oidc.token("")>`: "want for whom", `<+oidc.token()>`: "the audience; found 0",
		`<+oidc.token("a", "b")>`: "takes one argument", "<+oidc.token(\"a\\u0007\")>": "", `<+oidc.key("a")>`: "oidc.key",
	} {
		if got, err := s.Text(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
	for _, condition := range []string{`<+oidc.token("vault")> == "x"`, `<+oidc.token("vault")>.length() > 3`} {
		if _, err := s.Condition(condition); err == nil {
			t.Errorf("%s is decided", condition)
		}
	}
}

// Scopes are made of words that can't end a part of a subject.
func TestNoScopeForgesASubject(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"web:project:pay", "default:project:pay", "a b", "*", "a/b"} {
		if ref.CheckOrg(id) == nil || ref.CheckProject(id) == nil {
			t.Errorf("%q may be an organization or a project", id)
		}
	}
}

// Tasks of which AWS would see no difference share a name, and so a session.
func TestIdentitiesAreNamedByWhatAWSSees(t *testing.T) {
	t.Parallel()
	name := func(environment, step, connector string) string {
		n, _ := identityOf(t, webScope(t, environment, step), connector)
		return n
	}
	first := name("prod", "ShellScript", "aws")
	if again := name("prod", "Http", "aws"); again != first {
		t.Errorf("%s and %s; want the same for another type of step", first, again)
	}
	for what, other := range map[string]string{"another tag": name("dev", "ShellScript", "aws"), "another connector": name("prod", "ShellScript", "account.aws")} {
		if other == first {
			t.Errorf("%s has the same name %s", what, other)
		}
	}
}
