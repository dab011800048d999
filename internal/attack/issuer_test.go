package attack_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/slipway-cd/slipway/pkg/api"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/protocol"
)

// byToken is a connector whose test needs a token.
const byToken = `connector:
  name: AWS
  identifier: aws
  orgIdentifier: default
  projectIdentifier: web
  type: Aws
  spec: {credential: {type: OidcAuthentication, region: eu-central-1, spec: {iamRoleArn: "arn:aws:iam::123456789012:role/deployer", sessionTagKeys: [project_id]}}}
`

// claimed has a delegate take the task that tests the connector.
func claimed(t *testing.T, p *plane) task.Assignment {
	t.Helper()
	p.want(200, "PUT", "/v1/entities?org=default&project=web", byToken, "Bearer "+p.admin)
	p.want(200, "POST", "/v1/delegate/register", `{"id":"d1","name":"d","kinds":["probe"],"capacity":5}`, "Bearer "+p.delegate)
	p.want(200, "POST", "/v1/connectors/aws/test?org=default&project=web", "", "Bearer "+p.admin)
	return p.claim(t, "")
}

// claim has the delegate take the next task of an execution, or of any.
func (p *plane) claim(t *testing.T, execution string) task.Assignment {
	t.Helper()
	for until := time.Now().Add(patience); time.Now().Before(until); <-time.After(10 * time.Millisecond) { // the task is made beside
		var got api.Claimed
		if err := json.Unmarshal([]byte(p.want(200, "POST", "/v1/delegate/d1/claim", `{"max":1}`, "Bearer "+p.delegate)), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Tasks) > 0 && (execution == "" || got.Tasks[0].Execution == execution) {
			return got.Tasks[0]
		}
	}
	t.Fatal("there is no task")
	return task.Assignment{}
}

// trusted is what a relying party makes of a token by what it reads at the issuer
// that the token names, as long as that is ours.
func trusted(t *testing.T, p *plane, text, audience string) map[string]any {
	t.Helper()
	const server = "https://slipway.example.com"
	read := func(address string, into any) {
		path, ours := strings.CutPrefix(address, server)
		if !ours {
			t.Fatalf("%s isn't the server's", address)
		}
		if err := json.Unmarshal([]byte(p.want(200, "GET", path, "", "")), into); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&claims); err != nil {
		t.Fatal(err)
	}
	var found struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	read(claims.Issuer+"/.well-known/openid-configuration", &found)
	var keys jose.JSONWebKeySet
	read(found.Keys, &keys)
	for _, k := range keys.Keys {
		if !k.IsPublic() || !k.Valid() {
			t.Errorf("the key %s is published with more than its public part, or isn't one", k.KeyID)
		}
	}
	var all map[string]any
	if err := parsed.Claims(keys, &claims, &all); err != nil {
		t.Fatalf("the token isn't signed by a key of its issuer: %v", err)
	}
	if err := claims.Validate(jwt.Expected{Issuer: found.Issuer, AnyAudience: jwt.Audience{audience}}); err != nil {
		t.Error(err)
	}
	return all
}

// A token comes with the task that needs it, to the delegate that holds the task,
// and a cloud that reads the issuer's keys takes it. Nobody else gets one.
func TestTokensOfTasks(t *testing.T) {
	t.Parallel()
	for host, byLambda := range map[string]bool{"one machine": false, "a function": true} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t, byLambda)
			a := claimed(t, p)
			if len(a.Tokens) != 1 || strings.Contains(string(a.Payload), "eyJ") {
				t.Fatalf("the task comes with %d tokens, and the payload %s", len(a.Tokens), a.Payload)
			}
			var name string
			for of, token := range a.Tokens {
				name = of
				got := trusted(t, p, token.Text, identity.AWSAudience)
				if got["sub"] != "account:default:org:default:project:web" || got["jti"] != string(a.ID) || got["context"] != "test" || got["connector_id"] != "aws" {
					t.Errorf("the token claims %v", got)
				}
			}
			path := "/v1/delegate/d1/tasks/" + url.PathEscape(string(a.ID)) + "/token"
			body := func(fence int64, of string) string {
				doc, err := json.Marshal(protocol.FreshToken{Fence: fence, Identity: of})
				if err != nil {
					t.Fatal(err)
				}
				return string(doc)
			}
			var fresh task.IdentityToken
			if err := json.Unmarshal([]byte(p.want(200, "POST", path, body(a.Fence, name), "Bearer "+p.delegate)), &fresh); err != nil {
				t.Fatal(err)
			}
			trusted(t, p, fresh.Text, identity.AWSAudience)
			// Another lease, another token of the task, and another delegate of the account.
			p.want(409, "POST", path, body(a.Fence+1, name), "Bearer "+p.delegate)
			for _, other := range []string{"", "identity-0", identity.AWSAudience, strings.Repeat("x", 5000)} {
				p.want(404, "POST", path, body(a.Fence, other), "Bearer "+p.delegate)
			}
			other, _ := p.mint(store.TokenDelegate, ref.Scope{Account: "default"})
			p.want(403, "POST", path, body(a.Fence, name), "Bearer "+other)
			p.want(200, "POST", "/v1/delegate/register", `{"id":"d2","name":"e","kinds":["probe"]}`, "Bearer "+other)
			p.want(409, "POST", strings.Replace(path, "/d1/", "/d2/", 1), body(a.Fence, name), "Bearer "+other)
			p.want(403, "POST", path, body(a.Fence, name), "Bearer "+p.admin)
			p.want(401, "POST", path, body(a.Fence, name), "")
			// Once the task has ended.
			p.want(204, "POST", strings.TrimSuffix(path, "token")+"result", `{"fence":1,"result":{"status":"Errored"}}`, "Bearer "+p.delegate)
			p.want(409, "POST", path, body(a.Fence, name), "Bearer "+p.delegate)
			// Issuers of other accounts, and other things that might be there.
			for _, wrong := range []string{"acme", "Default", "default%20", "x"} {
				p.want(404, "GET", "/oidc/account/"+wrong+"/jwks", "", "")
				p.want(404, "GET", "/oidc/account/"+wrong+"/.well-known/openid-configuration", "", "")
			}
			p.want(404, "GET", "/oidc/account/default/token", "", "Bearer "+p.admin)
			// Nobody reads a token where people read.
			for _, read := range []string{
				"/v1/executions/" + a.Execution, "/v1/audit", "/v1/executions/" + a.Execution + "/test", "/v1/entities/connector/aws?org=default&project=web",
			} {
				if text := p.want(200, "GET", read, "", "Bearer "+p.admin); strings.Contains(text, "eyJ") {
					t.Errorf("%s shows a token: %s", read, text)
				}
			}
		})
	}
}

// A step that asks for a token gets one of its own project, for whom it says, and
// the token is nowhere but with the task.
func TestATokenOfAStep(t *testing.T) {
	t.Parallel()
	for host, byLambda := range map[string]bool{"one machine": false, "a function": true} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			p := newPlane(t, byLambda)
			p.want(200, "PUT", "/v1/entities?org=default&project=web", strings.NewReplacer("identifier: echo", "identifier: vault", "echo hello", `'echo <+oidc.token("vault")>'`).Replace(echo), "Bearer "+p.admin)
			var e api.Execution
			if err := json.Unmarshal([]byte(p.want(200, "POST", "/v1/pipelines/vault/executions?org=default&project=web", "{}", "Bearer "+p.admin)), &e); err != nil {
				t.Fatal(err)
			}
			p.want(200, "POST", "/v1/delegate/register", `{"id":"d1","name":"d","kinds":["shell"],"capacity":5}`, "Bearer "+p.delegate)
			a := p.claim(t, e.ID)
			if len(a.Tokens) != 1 || len(a.LateSecrets) != 1 || strings.Contains(string(a.Payload), "eyJ") {
				t.Fatalf("the task comes with %d tokens, %v, and the payload %s", len(a.Tokens), a.LateSecrets, a.Payload)
			}
			for _, token := range a.Tokens {
				got := trusted(t, p, token.Text, "vault")
				if got["sub"] != "account:default:org:default:project:web" || got["step_type"] != "ShellScript" || got["pipeline_id"] != "vault" || got["connector_id"] != nil {
					t.Errorf("the token claims %v", got)
				}
			}
			for _, read := range []string{"/v1/executions/" + e.ID, "/v1/audit"} {
				if text := p.want(200, "GET", read, "", "Bearer "+p.admin); strings.Contains(text, "eyJ") {
					t.Errorf("%s shows a token: %s", read, text)
				}
			}
		})
	}
}

// What clouds trust isn't a token of the API.
func TestATokenOfATaskOpensNothingHere(t *testing.T) {
	t.Parallel()
	p := newPlane(t, false)
	for _, token := range claimed(t, p).Tokens {
		p.want(401, "GET", "/v1/executions?org=default&project=web", "", "Bearer "+token.Text)
		p.want(401, "POST", "/v1/delegate/d1/claim", `{"max":1}`, "Bearer "+token.Text)
		p.want(401, "POST", "/v1/tokens", `{"kind":"user","name":"x"}`, "Bearer pat.default."+token.Text)
	}
}
